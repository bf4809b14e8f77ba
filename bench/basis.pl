#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# klr or sklr on a basis beside that of all examples and LIBSVM's svm-train: a
# table in Markdown, a row a model. Log loss and accuracy are those of test sets;
# sets without one are divided, every third row to test. A pass is over n m
# entries, those of the choice of points in parentheses; seconds are of the
# processor, user, and bytes those of the model.
#
#   KLR_DATA=FOLDER bench/basis.pl [--points 500,auto] [--choice grow,uniform]
#       [--model klr] [--no-svm] [SET]...
#
# --model sklr has the default lambda, a tenth of C, and the link consistent.
#
# With --from trained models are made smaller instead: each of the models, of
# all examples and on these shares of its support vectors, klr on so many points.
# In place of passes stands what the projection loses of |f|^2.
#
#   KLR_DATA=FOLDER bench/basis.pl --from 10%,20%,1000 [--models klr,svm,kfd]
#       [SET]...
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../tests/cli/lib";
use Getopt::Long qw(GetOptions);
use JSON::PP ();
use KLR;

chdir "$FindBin::Bin/.." or die "$FindBin::Bin/..: $!\n";
$| = 1;

# Gamma and C.
my %setting = (
    a9a => [ 0.0625, 1 ],
    banana => [ 20, 1 ],
    coil2000 => [ 0.5, 1 ],
    'german.numer' => [ 0.05, 1 ],
    ijcnn1 => [ 1, 8 ],
    magic => [ 4, 10 ],
    twonorm => [ 0.5, 1 ],
    usps => [ 0.0078125, 8 ],
);
my %option = (points => '1000,auto', choice => 'grow', svm => 1,
    model => 'klr', models => 'klr,svm,kfd');
GetOptions(\%option, qw(points=s choice=s model=s svm! from=s models=s))
    or die "the head of $0 says how to call it\n";
die "KLR_DATA is not set: it names the folder of the data sets\n"
    unless defined $ENV{KLR_DATA};
my @sets = @ARGV ? @ARGV : sort keys %setting;
my $dir = scratch();

sub prepare
{
    my ($set) = @_;
    my $run = run([ 'bench/prepare.sh', $set, $dir ]);
    die "$set: $run->{err}" if $run->{exit};
    return if !-l "$dir/$set.t";
    my ($i, @part) = (0);
    push @{ $part[ $i++ % 3 == 2 ] }, $_ for split /^/, get("$dir/$set");
    unlink "$dir/$set.t" or die "$set.t: $!\n";
    put("$dir/$set", join '', @{ $part[0] });
    put("$dir/$set.t", join '', @{ $part[1] });
    return;
}

# Run the command; its output and its seconds.
sub timed
{
    my @command = @_;
    my $before = (times)[2];
    my $run = run(\@command);
    die "@command: $run->{err}" if $run->{exit};
    return ($run->{out}, (times)[2] - $before);
}

sub row
{
    my ($set, $name, $passes, $seconds) = @_;
    my ($out) = timed(qw(klr-predict -q -j 1 --json), "$dir/$set.t",
        "$dir/model", "$dir/answers");
    my $said = JSON::PP::decode_json($out);
    printf "| %s | %s | %s | %s | %.2f | %s | %.1f |\n", $set, $name,
        defined $said->{log_loss} ? sprintf '%.4f', $said->{log_loss} : '',
        sprintf('%.2f%%', 100 * $said->{accuracy}), $seconds, $passes,
        (-s "$dir/model") / 1024;
    return;
}

sub klr
{
    my ($set, $name, @options) = @_;
    my ($gamma, $cost) = @{ $setting{$set} };
    my @link = $option{model} eq 'sklr' ? qw(--link consistent) : ();
    my ($out, $seconds) = timed(qw(klr-train -q --json -j 1 -g), $gamma, '-c',
        $cost, '-s', $option{model}, @link, @options, "$dir/$set",
        "$dir/model");
    my $said = JSON::PP::decode_json($out);
    my $basis = $said->{basis};
    my $passes = $basis
        ? sprintf '%.1f (%.1f)', @$basis{qw(passes choice_passes)}
        : sprintf '%.1f', $said->{passes};
    $name .= " $basis->{points}" if $basis;
    row($set, $name, $passes, $seconds);
    return;
}

sub svm
{
    my ($set) = @_;
    my ($gamma, $cost) = @{ $setting{$set} };
    my (undef, $seconds) = timed(qw(svm-train -q -m 1000 -g), $gamma, '-c',
        $cost, "$dir/$set", "$dir/model");
    row($set, 'svm-train', '', $seconds);
    return;
}

# A model of all examples, and smaller ones.
sub compress
{
    my ($set, $model) = @_;
    my ($gamma, $cost) = @{ $setting{$set} };
    my @all = (qw(klr-train -q --json -j 1));
    my ($out, $seconds) = timed(@all, '-s', $model, '-g', $gamma, '-c', $cost,
        $model eq 'svm' ? qw(-b 1) : (), "$dir/$set", "$dir/model");
    my $vectors = JSON::PP::decode_json($out)->{n_sv};
    rename "$dir/model", "$dir/all" or die "$dir/all: $!\n";
    symlink 'all', "$dir/model" or die "$dir/model: $!\n";
    row($set, "$model $vectors", '', $seconds);
    unlink "$dir/model" or die "$dir/model: $!\n";
    for my $points (split /,/, $option{from}) {
        my $count = $points =~ /^(\d+)%$/ ? int($vectors * $1 / 100) : $points;
        next if $count >= $vectors;
        ($out, $seconds) = timed(@all, '--from', "$dir/all", '--basis', $count,
            "$dir/$set", "$dir/model");
        my $said = JSON::PP::decode_json($out)->{projection};
        row($set, "$model $said->{points}", sprintf('%.1f%%',
            100 * $said->{distance_squared} / $said->{norm_squared}), $seconds);
        unlink "$dir/model" or die "$dir/model: $!\n";
    }
    return;
}

if (defined $option{from}) {
    print "| set | model | log loss | accuracy | s | lost | kB |\n",
        "|---|---|---|---|---|---|---|\n";
    for my $set (@sets) {
        die "$set: there is no setting of it\n" unless $setting{$set};
        prepare($set);
        compress($set, $_) for split /,/, $option{models};
    }
    exit;
}
print "| set | model | log loss | accuracy | s | passes | kB |\n",
    "|---|---|---|---|---|---|---|\n";
for my $set (@sets) {
    die "$set: there is no setting of it\n" unless $setting{$set};
    prepare($set);
    for my $choice (split /,/, $option{choice}) {
        for my $points (split /,/, $option{points}) {
            next if $points eq 'auto' && $choice ne 'grow';
            my $finds = $points eq 'auto';
            klr($set, $finds ? 'auto' : $choice, '--basis', $points,
                qw(--basis-bound none),
                $finds ? () : ('--basis-choice', $choice));
        }
    }
    klr($set, 'all');
    svm($set) if $option{svm};
}
