#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Mutants of data, models and range files given to the programs: these end
# with 0, 1 or 2, say what is wrong if it is not 0, and leave a model behind if
# it is.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $count = $ENV{KLR_MUTANTS} // 100;
my $build = $ENV{KLR_BUILD} // 'build';
my $dir   = scratch();

# The paths of mutants of a corpus, which the target makes. Their seeds are
# others than those of its own run, which begin with 1.
sub mutants
{
    my ($target, $corpus) = @_;
    my $folder = scratch();
    my @seeds = map { 1_000_000_000 + $_ } 1 .. $count;
    my $run = run([ "$build/fuzz_$target", '-c', "tests/fuzz/corpus/$corpus", '-w',
            $folder, @seeds ]);
    is($run->{exit}, 0, "$count mutants of $corpus files") or diag($run->{err});
    return map {"$folder/$_"} @seeds;
}

# What is wrong with how a command ended, or ''. A minute is far beyond what
# any of them takes.
sub complaint
{
    my ($command, %option) = @_;
    my ($name, @arguments) = @$command;
    my $run = run([ 'timeout', 60, bin($name), @arguments ], %option);
    my $what = "$name @arguments: $run->{exit}: $run->{err}\n";
    return $what if $run->{exit} !~ /^[012]$/;
    return $what if $run->{exit} && $run->{err} !~ /^(?:\Q$name\E: .*\n)+\z/;
    return '';
}

sub train
{
    my ($file, $i) = @_;
    my $model   = "$dir/trained";
    my @options = (
        '-q', '-j', 1, '-s', $i % 3 ? 'klr' : 'svm', '-t', $i % 6,
        '--max-iter', 100, ('--string-labels') x ($i % 5 == 0)
    );
    unlink $model;
    my $wrong = $i % 4
        ? complaint([ 'klr-train', @options, $file, $model ])
        : complaint([ 'klr-train', @options, '-', $model ],
            stdin_file => $file);
    return $wrong if $wrong || !-e $model;
    return complaint([ 'klr-predict', $file, $model ]);
}

sub scale
{
    my ($file, $i) = @_;
    my @options = ([], [ '-l', 0 ], ['--standardize'], [ '-y', -1, 1 ],
        ['--string-labels']);
    my $range   = "$dir/range";
    unlink $range;
    my $wrong = complaint(
        [ 'klr-scale', '-s', $range, @{ $options[ $i % 5 ] }, $file ]);
    return $wrong if $wrong || !-e $range;
    return complaint([ 'klr-scale', '-r', $range, $file ]);
}

# Call it for each mutant and its number; nothing must be wrong.
sub all_well
{
    my ($what, $mutants, $code) = @_;
    is(join('', map { $code->($mutants->[$_], $_) } 0 .. $#$mutants), '',
        $what);
}

my @data   = mutants('data',  'data');
my @ranges = mutants('data',  'range');
my @models = mutants('model', 'model');
my $good   = "$dir/good";
is(complaint([ qw(klr-train -q -g 0.5), 'tests/fuzz/corpus/data/dense',
    $good ]),
    '', 'a model without fault');

all_well('klr-train',               \@data, \&train);
all_well('klr-scale',               \@data, \&scale);
all_well('klr-predict, test data',  \@data, sub {
    my ($file, $i) = @_;
    return complaint([ 'klr-predict', ('--unlabelled') x ($i % 2), $file,
        $good ]);
});
all_well('klr-predict, models',     \@models, sub {
    return complaint([ 'klr-predict', 'tests/fuzz/corpus/data/dense', $_[0] ]);
});
all_well('klr-scale, range files',  \@ranges, sub {
    return complaint([ 'klr-scale', '-r', $_[0], 'heart_scale' ]);
});

done_testing();
