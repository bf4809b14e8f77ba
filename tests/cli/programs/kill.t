# SPDX-License-Identifier: BSD-3-Clause
#
# A model is replaced whole or not at all: klr-train is killed 200 times while
# it saves over an existing model, and what is there then is the old model or
# the new one, to the byte.
#
# Where a kill falls is drawn from a seeded generator over the time that saving
# takes here, counted from the moment its temporary file appears.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use KLR;
use Judge;

use constant KILLS => 200;

my $dir = scratch();
my $data = put("$dir/data",
    clusters(seed => 4, labels => [ 1, -1 ], n => 400, d => 60));
mkdir "$dir/models";
my $model = "$dir/models/m";
my @train = ('klr-train', '-q', '-s', 'klr', '-t', 0, '-e', 0.5);
my @cost = (0.001, 0.002);

# Seconds, by a clock that nobody sets.
sub now { return clock_gettime(CLOCK_MONOTONIC) }

sub entries
{
    opendir my $folder, "$dir/models" or die $!;
    return grep { !/^\.\.?$/ } readdir $folder;
}

# The two models; their texts are known, and each loads.
my @text;
for my $which (0, 1) {
    my $run = run([ @train, '-c', $cost[$which], $data, $model ]);
    is($run->{exit}, 0, "trains") or diag($run->{err});
    $text[$which] = get($model);
    is(run([ 'klr-predict', $data, $model, '/dev/null' ])->{exit}, 0, 'loads');
}
isnt($text[0], $text[1], 'the two models differ');

# Start training; returns the run and the time when it began to save, or undef
# if it ended unseen.
sub start_saving
{
    my ($which) = @_;
    my $run = start([ @train, '-c', $cost[$which], $data, $model ]);
    my $deadline = now() + 10;
    while (now() < $deadline) {
        return ($run, now()) if entries() > 1;
        return ($run, undef) if get($model) eq $text[$which];
    }
    kill 'KILL', $run->{pid};
    finish($run);
    BAIL_OUT('klr-train did not save within 10 s');
}

# How long saving takes, undisturbed: the median of nine.
my @took;
for (1 .. 200) {
    last if @took == 9;
    put($model, $text[0]);
    my ($run, $begin) = start_saving(1);
    if (defined $begin) {
        select undef, undef, undef, 0 while entries() > 1;
        push @took, now() - $begin;
    }
    finish($run);
}
BAIL_OUT('no temporary file was seen beside the model') if @took < 9;
my $duration = (sort { $a <=> $b } @took)[4];

my $random = uniform(5000);
my %found = (old => 0, new => 0, neither => 0);
my $interrupted = 0;
for my $i (1 .. KILLS) {
    my $which = $i % 2; # what is being saved
    put($model, $text[ 1 - $which ]);
    my $delay = 1.2 * $random->() * $duration;
    my ($run, $begin) = start_saving($which);
    if (defined $begin) {
        select undef, undef, undef, 0
            while now() < $begin + $delay;
    }
    kill 'KILL', $run->{pid};
    finish($run);
    my $now = get($model);
    $found{ $now eq $text[$which] ? 'new'
        : $now eq $text[ 1 - $which ] ? 'old' : 'neither' }++;
    my @left = grep { $_ ne 'm' } entries();
    $interrupted += @left > 0;
    unlink map {"$dir/models/$_"} @left;
}
is($found{neither}, 0, KILLS . ' kills: the old or the new model, whole');
cmp_ok($interrupted, '>=', KILLS / 10, 'many kills fell into saving');
diag(sprintf '%d kills over %.1f ms of saving: %d old, %d new, %d amidst',
    KILLS, 1200 * $duration, @found{qw(old new)}, $interrupted);

done_testing();
