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

# The value of a point, raised by its C: each doubling has to lower it by 5 %
# over the root of the rows.
sub badness
{
    my ($point, $metric) = @_;
    my $loss = $metric =~ /^(logloss|brier|ece)$/ ? $point->{value} :
        1 - $point->{value};
    return $loss * exp(0.05 * log($point->{c}) / log(2) /
        sqrt($point->{rows}));
}

# The best of those that were validated as it was.
sub check_best
{
    my ($report, $name) = @_;
    my $auto   = $report->{auto};
    my @points = @{$auto->{points}};
    my $best   = $points[$auto->{best}];
    is($report->{c}, $best->{c}, "$name: C is that of the best point");
    is($auto->{scale}, $best->{scale}, "$name: so is the scale");
    my $like = sub { join ' ', @{$_[0]}{qw(rows folds loo scale)} };
    my @rivals = grep { $like->($_) eq $like->($best) } @points;
    cmp_ok(scalar @rivals, '>', 2, "$name: it had rivals");
    my $bad = badness($best, $auto->{metric});
    my @better = grep { badness($_, $auto->{metric}) < $bad * (1 - 1e-12) }
        @rivals;
    is(@better, 0, "$name: no point is better");
    my @long = grep { $_ != sprintf '%.3g', $_ }
        map { grep {defined} @$_{qw(gamma c)} } @points;
    is("@long", '', "$name: what is printed is what was tried");
    return;
}

# The points of a report by how they were validated: "3 folds on 500 rows".
sub stages
{
    my ($report) = @_;
    my (%count, @order);
    for my $point (@{$report->{auto}{points}}) {
        my $how = ($point->{loo} ? 'loo' : "$point->{folds} folds")
            . " on $point->{rows} rows, $point->{scale}";
        push @order, $how unless $count{$how}++;
    }
    return @order;
}

{
    my $report = report('--auto heart m1');
    check_best($report, 'heart');
    is($report->{auto}{scale}, 'none', 'features of one scale stay');
    is($report->{auto}{metric}, 'logloss', 'log loss');
    is_deeply([ stages($report) ],
        [ '3 folds on 270 rows, none', 'loo on 270 rows, none' ],
        'few rows: leave-one-out after folds');
    my $best = $report->{auto}{points}[$report->{auto}{best}];
    is($report->{gamma}, $best->{gamma}, 'and its gamma');
    report("-c $best->{c} -g $best->{gamma} heart m2");
    is(get("$dir/m2"), get("$dir/m1"), 'the model is that of these options');
    for my $threads (1, 4) {
        my $again = report("--auto -j $threads heart m3");
        is(get("$dir/m3"), get("$dir/m1"), "the same with -j $threads");
        is_deeply($again->{auto}, $report->{auto}, 'by the same points');
    }
    my $loo = report("--loo -c $best->{c} -g $best->{gamma} heart");
    cmp_ok(abs($loo->{log_loss} - $best->{value}), '<', 1e-5,
        'a value is that of --loo');
    my $first = $report->{auto}{points}[0];
    my $grid = report("-v 3 -c $first->{c} -g $first->{gamma} heart");
    cmp_ok(abs($grid->{log_loss} - $first->{value}), '<', 2e-3,
        'or that of -v');
}

# Many rows: the first stage sees a sample, more than many the second one, too.
{
    my $report = report('--auto many m');
    check_best($report, 'many');
    is_deeply(report("--auto -j 3 many m3")->{auto}, $report->{auto},
        'a sample is the same with -j 3');
    my $scale = $report->{auto}{scale};
    my @stages = stages($report);
    is($stages[0], '3 folds on 500 rows, minmax', 'a sample at first');
    is($stages[1], '3 folds on 500 rows, standard', 'then the other scale');
    is($stages[2], "3 folds on 1600 rows, $scale", 'then all rows');
    put("$dir/less", classes(2, 600));
    @stages = stages(report('--auto less m'));
    is($stages[0], '3 folds on 300 rows, minmax', 'a smaller one of less');
    put("$dir/more", classes(2, 6000));
    $report = report('--auto more m');
    check_best($report, 'more');
    @stages = stages($report);
    like($stages[2], qr/^3 folds on 4000 rows/, 'or a larger sample');
    is($report->{n}, 6000, 'the model is of all');
    put("$dir/ones", "1\n" x 1600);
    @stages = stages(report('--auto --weights ones many m'));
    is($stages[0], '3 folds on 1600 rows, minmax',
        'no sample where examples have weights');
}

# The last stage goes on from the best point of its first turn, which is the
# first one that was tried here.
{
    my $random = uniform(26);
    my $normal = sub { my $sum = 0; $sum += $random->() for 1 .. 6; $sum };
    put("$dir/near", join '', map {
        my $y = $_ % 2;
        join(' ', $y, map { sprintf "$_:%.4f", $normal->() + $y / 2 } 1 .. 8)
            . "\n"
    } 1 .. 500);
    my @fine = grep { $_->{rows} == 500 }
        @{report('--auto near m')->{auto}{points}};
    my ($first) = sort { badness($a, 'logloss') <=> badness($b, 'logloss') }
        @fine[ 0 .. 6 ];
    is($first, $fine[0], 'of a turn the first point is the best');
    cmp_ok(scalar @fine, '>', 7, 'the search goes on from there');
}

# Very many rows: the model is on a basis, and so it is said.
{
    my $random = uniform(5);
    put("$dir/most", join '', map { sprintf "%d 1:%.6f\n", $_ % 2,
        $_ % 2 + 3 * $random->() } 1 .. 90000);
    my $run = train('--auto --json -c 1 -g 1 most m1');
    is($run->{exit}, 0, 'very many rows') or diag($run->{err});
    like($run->{err}, qr/auto: --basis auto, which takes about \d+ minutes? on a thread; klr of all 90000 examples would take about \d+ minutes\n/,
        'a basis, and why');
    my $report = decode_json($run->{out});
    ok($report->{auto}{basis}, 'the report knows of it');
    cmp_ok($report->{n_sv}, '<', 1000, 'the model is small');
    my $scale = $report->{auto}{scale};
    report("--basis auto --scale $scale -c 1 -g 1 most m2");
    is(get("$dir/m2"), get("$dir/m1"), 'it is that of --basis auto');
    for my $options ('-j 1', '-j 4 -m 50') {
        report("--auto -c 1 -g 1 $options most m2");
        is(get("$dir/m2"), get("$dir/m1"), "the same with $options");
    }
    ok(!report('--auto -c 1 -g 1 many m2')->{auto}{basis},
        'fewer rows need none');
}

# Fewer rows than folds: as many folds.
for my $rows (2 .. 6) {
    put("$dir/few", join '', map { $_ % 2 . ' 1:' . $_ * $_ % 7 . "\n" }
        1 .. $rows);
    for my $model (qw(klr svm kfd lhalf)) {
        my $report = report("--auto -s $model few m");
        my ($stage) = stages($report);
        my $folds = $rows < 3 ? $rows : 3;
        like($stage, qr/^$folds folds on $rows rows/, "$model of $rows rows");
    }
}

# Scaling. Both scales are tried, unless the features have one.
{
    my $report = report('--auto two m');
    is_deeply([ (stages($report))[ 0, 1 ] ],
        [ '3 folds on 120 rows, minmax', '3 folds on 120 rows, standard' ],
        'features of several scales');
    like(get("$dir/m"), qr/scal/, 'the model scales');
    is($report->{auto}{scale}, 'minmax', 'the first one stays');
    my $random = uniform(7);
    put("$dir/far", join '', map {
        sprintf "%d 1:%.4f 2:%.4f 3:%.4f\n", $_ % 2, $random->(), $random->(),
            $_ == 1 ? 30 : ($_ % 2) + 0.8 * $random->()
    } 1 .. 120);
    $report = report('--auto far m');
    is($report->{auto}{scale}, 'standard',
        'unless an outlier makes the other one better');
    check_best($report, 'an outlier');
    my $best = $report->{auto}{points}[$report->{auto}{best}];
    report("--scale standard -c $best->{c} -g $best->{gamma} far m2");
    is(get("$dir/m2"), get("$dir/m"), 'the model has that scale');
    for my $scale (qw(minmax standard none)) {
        $report = report("--auto --scale $scale two m");
        is_deeply([ grep { !/, $scale$/ } stages($report) ],
            [], "--scale $scale is respected");
    }
    put("$dir/binary", join '', map { ($_ % 2) . ' ' . ($_ % 3 ? "1:1\n" :
        "2:1\n") } 1 .. 40);
    $report = report('--auto binary m');
    is($report->{auto}{features}, 'binary', 'binary ones');
    is($report->{auto}{scale},    'none',   'stay as they are');
    put("$dir/narrow", join '', map { ($_ % 2) . " 1:0.$_ 2:0.0$_\n" } 1 .. 40);
    like(join('; ', stages(report('--auto narrow m'))), qr/minmax.*standard/,
        'features within -1 .. 1 that do not reach an end');
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
    $report = report('--auto -c 1,2 -g 0.1 --scale minmax two m');
    is(@{$report->{auto}{points}}, 2, 'lists are all that is tried');
    is_deeply([ stages($report) ], ['loo on 120 rows, minmax'],
        'at once as well as it can be');
    $report = report('--auto -t linear two m');
    is($report->{auto}{points}[0]{gamma}, undef, 'linear: C alone');
    $report = report('--auto -v 5 --metric accuracy two m');
    is_deeply([ grep { !/^5 folds/ } stages($report) ], [], '-v');
    is($report->{auto}{metric}, 'accuracy', '--metric');
    check_best($report, 'by accuracy');
    $report = report('--auto --loo two m');
    is_deeply([ grep { !/^loo/ } stages($report) ], [], '--loo');
    check_best($report, 'leave-one-out');
}

# Several classes, other models.
check_best(report('--auto three m'), 'three classes');
{
    my $report = report('--auto --multiclass softmax three m');
    check_best($report, 'softmax');
    like((stages($report))[-1], qr/^5 folds/,
        'without a closed form of leave-one-out more folds');
}
{
    my $report = report('--auto -s svm two m');
    is($report->{auto}{metric}, 'accuracy', 'an svm: by accuracy');
    $report = report('--auto -s svm -b 1 two m');
    is($report->{auto}{metric}, 'logloss', 'with probabilities by log loss');
}

# Words.
{
    my $run = train('--auto two m');
    like($run->{err},
        qr/auto: features are of several scales, scale minmax or standard\n/,
        'it says why features are scaled');
    like($run->{err},
        qr/auto: 9 points by 3 folds on 120 of 120 rows, 3 with the other scale, then about 7 by leave-one-out on 120 rows: some 43 trainings\n/,
        'and what it will cost');
    like($run->{err},
        qr/auto: scale minmax, gamma = \S+, C = \S+: logloss \S+ by leave-one-out, of \d+ points\n/,
        'and what it chose');
    is(train('-q --auto two m')->{err}, '', 'nothing with -q');
}

# A metric that no point has: of folds without one of the classes.
{
    put("$dir/alike", "1 1:1 2:3\n" . "-1 1:1\n" x 5 . "1 1:1\n");
    my $run = train('--auto -v 2 --metric mcc alike m');
    is($run->{exit}, 0, 'a metric without a value');
    like($run->{err}, qr/warning: no point has a value of the metric mcc: /,
        'is told');
    like($run->{err}, qr/: logloss chooses\n.*: logloss \d\.\d+ by 2 folds/s,
        'another one chooses');
    unlike($run->{err}, qr/\bnan\b/, 'no number that is none');
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
        "klr-train: --auto and $name exclude each other\n",
        'is refused');
}
is(train('--auto two -')->{exit}, 0, 'the model to stdout');

done_testing();
