#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# --auto: what is chosen is the best of what was tried, the model is that of
# training with it, and what is given is not searched.
use strict;
use warnings;
use lib 'tests/cli/lib';
use KLR;
use Judge qw(uniform);
use JSON::PP;
use Test::More;

my $dir = scratch();
put("$dir/heart", get('heart_scale'));

# Classes around points of a plane, the second feature a hundred times as wide.
sub classes
{
    my ($k, $n) = @_;
    my $random = uniform($k);
    return join '', map {
        my $y = $_ % $k;
        sprintf "%d 1:%.6f 2:%.6f\n", $y, ($y == 0) + 1.2 * $random->(),
            100 * (($y == 1) + 1.2 * $random->())
    } 1 .. $n;
}
put("$dir/two",   classes(2, 120));
put("$dir/three", classes(3, 120));
put("$dir/many",  classes(2, 1600));

sub train
{
    my @arguments = map { split } @_;
    return run([ 'klr-train', @arguments ], cwd => $dir);
}

sub report
{
    my $run = train('-q --json', @_);
    is($run->{exit}, 0, "@_") or diag($run->{err});
    return decode_json($run->{out});
}

# The point with the least value among those of the stage on all rows.
sub check_best
{
    my ($report, $name) = @_;
    my $auto = $report->{auto};
    my @points = @{$auto->{points}};
    my $best = $points[$auto->{best}];
    is($report->{c}, $best->{c}, "$name: C is that of the best point");
    my @worse = grep {
               $_->{rows} == $report->{n}
            && $_->{value} < $best->{value}
    } @points;
    is(@worse, 0, "$name: no point is better");
    is($best->{rows}, $report->{n}, "$name: it was compared on all rows");
    my @long = grep { $_ != sprintf '%.3g', $_ }
        map { grep {defined} @$_{qw(gamma c)} } @points;
    is("@long", '', "$name: what is printed is what was tried");
    return;
}

{
    my $report = report('--auto heart m1');
    check_best($report, 'heart');
    is($report->{auto}{scale}, 'none', 'features of one scale stay');
    is($report->{auto}{folds}, 3,      'three folds');
    is($report->{auto}{metric}, 'logloss', 'log loss');
    my $best = $report->{auto}{points}[$report->{auto}{best}];
    is($report->{gamma}, $best->{gamma}, 'and its gamma');
    cmp_ok($best->{c}, '>', 64 * 3, 'the search has gone beyond an edge');
    report("-c $best->{c} -g $best->{gamma} heart m2");
    is(get("$dir/m2"), get("$dir/m1"), 'the model is that of these options');
    for my $threads (1, 4) {
        my $again = report("--auto -j $threads heart m3");
        is(get("$dir/m3"), get("$dir/m1"), "the same with -j $threads");
        is_deeply($again->{auto}, $report->{auto}, 'by the same points');
    }
    my $grid = report("-v 3 -e 1e-3 -c $best->{c} -g $best->{gamma} heart");
    cmp_ok(abs($grid->{log_loss} - $best->{value}), '<', 2e-3,
        'a value is that of -v');
}

# Many rows: the first stage sees a sample.
{
    my $report = report('--auto many m');
    check_best($report, 'many');
    is_deeply(report("--auto -j $_ many m3")->{auto}, $report->{auto},
        "a sample is the same with -j $_") for 1, 4;
    is($report->{auto}{sample}, 500, 'a sample of five hundred rows');
    is($report->{auto}{points}[0]{rows}, 500, 'which the first points see');
    put("$dir/ones", "1\n" x 1600);
    $report = report('--auto --weights ones many m');
    is($report->{auto}{sample}, 1600, 'no sample where examples have weights');
}

# Scaling.
{
    my $report = report('--auto two m');
    is($report->{auto}{scale}, 'standard', 'features of several scales');
    like(get("$dir/m"), qr/scal/, 'the model scales');
    is(report('--auto --scale minmax two m')->{auto}{scale},
        'minmax', '--scale is respected');
    is(report('--auto --scale none two m')->{auto}{scale},
        'none', '--scale none, too');
    put("$dir/binary", join '', map { ($_ % 2) . ' ' . ($_ % 3 ? "1:1\n" :
        "2:1\n") } 1 .. 40);
    is(report('--auto binary m')->{auto}{features}, 'binary', 'binary ones');
    put("$dir/narrow", join '', map { ($_ % 2) . " 1:0.$_ 2:0.0$_\n" } 1 .. 40);
    is(report('--auto narrow m')->{auto}{scale},
        'minmax', 'features within -1 .. 1 that do not reach an end');
    put("$dir/sparse", join '', map { ($_ % 2) . " $_:3\n" } 1 .. 40);
    $report = report('--auto sparse m');
    is($report->{auto}{scale}, 'none', 'sparse features keep their zeros');
}

# What is given is not searched.
{
    my $report = report('--auto -g 0.1 two m');
    is_deeply([ grep { $_->{gamma} != 0.1 } @{$report->{auto}{points}} ], [],
        '-g is respected');
    $report = report('--auto -c 5 two m');
    is_deeply([ grep { $_->{c} != 5 } @{$report->{auto}{points}} ], [],
        '-c is respected');
    $report = report('--auto -c 1 two m');
    is($report->{c}, 1, '-c of the least model, too');
    $report = report('--auto -c 1,2 -g 0.1 two m');
    is(@{$report->{auto}{points}}, 2, 'lists are all that is tried');
    $report = report('--auto -t linear two m');
    is($report->{auto}{points}[0]{gamma}, undef, 'linear: C alone');
    $report = report('--auto -v 5 --metric accuracy two m');
    is($report->{auto}{folds},  5,          '-v');
    is($report->{auto}{metric}, 'accuracy', '--metric');
    $report = report('--auto --loo two m');
    ok($report->{auto}{loo}, '--loo');
    check_best($report, 'leave-one-out');
}

# Several classes, other models.
check_best(report('--auto three m'), 'three classes');
check_best(report('--auto --multiclass softmax three m'), 'softmax');
{
    my $report = report('--auto -s svm two m');
    is($report->{auto}{metric}, 'accuracy', 'an svm: by accuracy');
    $report = report('--auto -s svm -b 1 two m');
    is($report->{auto}{metric}, 'logloss', 'with probabilities by log loss');
}

# Words.
{
    my $run = train('--auto two m');
    like($run->{err}, qr/auto: scale standard, features are of several scales/,
        'it says why features are scaled');
    like($run->{err}, qr/auto: 9 points on 120 of 120 rows, then about 7 on all, each by 3 folds: some 48 trainings/,
        'and what it will cost');
    like($run->{err}, qr/auto: gamma = \S+, C = \S+: logloss \S+, the best of/,
        'and what it chose');
    is(train('-q --auto two m')->{err}, '', 'nothing with -q');
}

# Time.
{
    my $run = train('--auto --time-limit 1e-9 two m');
    is($run->{exit}, 0, 'no time at all');
    like($run->{err}, qr/auto: the limit of time was reached: no point/,
        'is told');
}

# Refused.
for my $other ('--log x', '--cv-out x', '--metrics', '--check-kernel',
    '--sparsest 2', '--error-cost 1,2') {
    my $run = train("--auto $other two m");
    my ($name) = $other =~ /^(\S+)/;
    is($run->{exit}, 2, "--auto $other");
    is($run->{err},
        "klr-train: options --auto and $name exclude each other\n",
        'is refused');
}
is(train('--auto two -')->{exit}, 0, 'the model to stdout');

done_testing();
