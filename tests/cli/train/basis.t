#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernel logistic regression on a basis from the command line: the same bytes
# whatever the threads and the memory, what is reported and what is refused, and
# the bounds to all points.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Cwd 'abs_path';
use KLR;
use Judge;
use Test::More;

my $heart = abs_path('heart_scale');
my $dir = scratch();

# Values of the report by key, those of the basis behind "basis.".
sub train
{
    my ($data, $model, @options) = @_;
    my $run = run([ 'klr-train', '--json', @options, $data, $model ],
        cwd => $dir);
    is($run->{exit}, 0, "@options: exit status") or diag $run->{err};
    my ($basis) = $run->{out} =~ /"basis": \{([^}]*)\}/;
    my %value = $run->{out} =~ /"(\w+)": ?("[^"]*"|[^,{}]+)/g;
    my %more = ($basis // '') =~ /"(\w+)": ?([^,]+)/g;
    $value{"basis.$_"} = $more{$_} for keys %more;
    return \%value;
}

sub refused
{
    my ($message, @options) = @_;
    my $run = run([ 'klr-train', @options, $heart, 'no' ], cwd => $dir);
    is($run->{exit}, 2, "@options: refused");
    like($run->{err}, qr/^klr-train: $message.*\n\z/, '... by one line');
}

# ---- many examples, in several turns ----

put("$dir/many", clusters(seed => 3, labels => [ 1, -1 ], n => 3000, d => 4));
my @many = (qw(-g 1 -c 3 --basis 150 -q));
train("$dir/many", "m.$_->[0]", @many, @{ $_->[1] })
    for [ 0 => [qw(-j 1)] ], [ 1 => [qw(-j 2)] ], [ 2 => [qw(-j 8)] ],
    [ 3 => [qw(-j 2 -m 1)] ];
is(get("$dir/m.$_"), get("$dir/m.0"), 'the same bytes') for 1 .. 3;

my $all = train("$dir/many", 'all', @many[ 0 .. 3 ], '-q', '-e', '1e-8');
my $exact = train("$dir/many", 'm', @many, qw(--basis-bound exact));
my $sample = train("$dir/many", 'm', @many);
my $none = train("$dir/many", 'm', @many, qw(--basis-bound none));
my $uniform = train("$dir/many", 'm', @many, qw(--basis-choice uniform));
my $above = 1 - $all->{objective} / $exact->{objective};
cmp_ok($exact->{'basis.full_gap'}, '>=', $above - 1e-6,
    'the exact bound holds');
cmp_ok($exact->{'basis.full_gap'}, '<=', 2 * $above + 2e-6, '... closely');
is($exact->{'basis.full_gap_error'}, 0, '... and has no error');
my $error = $sample->{'basis.full_gap_error'};
cmp_ok($error, '>', 0, 'an estimate has one');
cmp_ok(
    abs($sample->{'basis.full_gap'} - $exact->{'basis.full_gap'}), '<=',
    4 * $error + 1e-6, '... and is right to it');
is($none->{'basis.full_gap'}, 'null', 'no bound');
my ($share, $told) = map { 100 * $_ } $sample->{'basis.full_gap'}, $error;
like(run([ 'klr-train', @many[ 0 .. 5 ], "$dir/many", '-' ], cwd => $dir)->{err},
    qr/that of all examples at most \Q@{[sprintf '%.2g%% +- %.1g%%', $share,
    $told]}\E less,/, 'the summary tells it in percent');

# Estimates by ten bases: right in the mean, and as far off as they say.
my ($ratio, $square) = (0, 0);
for my $seed (1 .. 10) {
    my ($whole, $estimate) = map {
        train("$dir/many", 'm', qw(-g 1 -c 3 --basis 10 -q --seed), $seed,
            '--basis-bound', $_)
    } qw(exact sample);
    my ($right, $told) = map { $_->{'basis.full_gap'} } $whole, $estimate;
    $ratio += $told / $right / 10;
    $square += (($told - $right) / $estimate->{'basis.full_gap_error'})**2 / 10;
}
cmp_ok(abs($ratio - 1), '<', 0.1, 'estimates are right in the mean');
cmp_ok(abs(log $square), '<', 1.5, '... and their errors in size');

cmp_ok($uniform->{objective}, '>', $sample->{objective},
    'points by growing are better than drawn ones');

# Points of each class, where one is rare.
my $often = 0;
put("$dir/rare", join '', grep { !/^-/ || $often++ % 9 == 0 }
        split /^/, get("$dir/many"));
for my $case ([ uniform => 4, 15 ], [ balanced => 30, 30 ]) {
    my ($choice, $least, $most) = @$case;
    train("$dir/rare", 'r', qw(--basis 60 -q --basis-choice), $choice);
    my ($count) = get("$dir/r") =~ /^nr_sv \d+ (\d+)$/m;
    ok($count >= $least && $count <= $most,
        "$choice: $count of the rare class");
}

cmp_ok($sample->{gap}, '<=', 1e-6, 'the gap of its own problem');
is($sample->{n_sv}, 150, 'support vectors are the points');
cmp_ok($sample->{'basis.passes'}, '<=', 12, 'few passes');
is($sample->{'basis.points'}, 150, 'points');

# ---- options beside it ----

my $path = run([ qw(klr-train --json --basis 40 -c), '0.1,1,10', $heart, 'p' ],
    cwd => $dir);
is($path->{exit}, 0, 'a path of C');
is(() = $path->{out} =~ /"points": 40\b/g, 3, '... of the same points');
my $middle = train($heart, 'p', qw(--basis 40 -q -c 1));
my @objectives = $path->{out} =~ /"objective": ([^,]+)/g;
cmp_ok(abs($objectives[1] / $middle->{objective} - 1), '<', 1e-6,
    '... that its middle one has');
my ($most) = sort { $b <=> $a } $path->{out} =~ /\d, "passes": ([^,]+)/g;
cmp_ok($most, '<=', 8, '... each of a few passes of its own');
my @validation = (qw(klr-train --basis 40 -v 5 -q -c), '0.1:10:x10');
my $validated = run([ @validation, $heart, 'v' ], cwd => $dir);
like($validated->{out}, qr/^Best C = /m, 'a validation');
my ($one) = $validated->{out} =~ /Log loss = (\S+)/;
cmp_ok($one, '<', 0.45, '... of models that are good');
my $again = run([ @validation, qw(-j 3), $heart, 'w' ], cwd => $dir);
is($again->{out}, $validated->{out}, '... whatever the threads');

# ---- as many points as it takes ----

# The model is that of so many points.
my @all = (qw(-g 3 -c 3 -q));
my @auto = (@all, qw(--basis auto));
my $found = train("$dir/many", 'auto', @auto);
my $size = $found->{'basis.points'};
is($found->{'basis.end'}, '"enough"', 'auto: a size that suffices');
cmp_ok($size, '<=', 256, "... a small one, $size");
cmp_ok($found->{'basis.excess'} + 2 * $found->{'basis.excess_error'}, '<',
    0.001, '... by its estimate');
train("$dir/many", 'same', @all, '--basis', $size);
my ($same, $auto) = map { get("$dir/$_") =~ s/^options .*\n//mr } 'same',
    'auto';
is($same, $auto, '... as --basis with that number');
train("$dir/many", 'auto.j', @auto, qw(-j 3 -m 1));
is(get("$dir/auto.j"), get("$dir/auto"), '... whatever threads and memory');
my $fine = train("$dir/many", 'fine', @auto, qw(--basis-tol 1e-4));
cmp_ok($fine->{'basis.points'}, '>', $size, '... more for a finer tolerance');
like(run([ qw(klr-train -g 3 -c 3 --basis auto), "$dir/many", '-' ],
        cwd => $dir)->{err},
    qr/log loss of all examples about \S+ \+- \S+ less,/,
    '... and the summary tells it');

# What was estimated, on other examples of the same kind; half as many points
# twice over would not do.
my @both = split /^/, clusters(seed => 3, labels => [ 1, -1 ], n => 6000,
    d => 4);
put("$dir/more", join '', @both[ 3000 .. 5999 ]);
train("$dir/many", 'every', @all);
train("$dir/many", 'few', @all, '--basis', $size / 4);
my ($loss, $every, $few) = map {
    run([ qw(klr-predict --json -q), "$dir/more", $_, 'p' ], cwd => $dir)->{out}
        =~ /"log_loss": ([^,]+)/
} qw(auto every few);
cmp_ok($loss - $every, '<', 0.001, 'log loss is as near to that of all');
cmp_ok($few - $every, '>', 0.001, '... but not of a quarter of the points');
like(run([ qw(klr-train -g 3 -c 3 --basis auto -v 3 -q), "$dir/many" ],
        cwd => $dir)->{out}, qr/^Log loss = 0\.1/m, 'auto in a validation');

# Each fold finds its own number of points, as a training without it does. Folds
# of rows one after the other leave these in their order.
put("$dir/thirds", join "", map { "$_\n" x 1000 } 1 .. 3);
for my $gamma (3, 8) {
    my @auto = (qw(klr-train --json -q -c 3 --basis auto -g), $gamma);
    my @sizes = map {
        my ($out, @row) = ($_, split /^/, get("$dir/many"));
        put("$dir/rest", join '', @row[ grep { int($_ / 1000) != $out } 0 .. 2999 ]);
        run([ @auto, 'rest', 'r' ], cwd => $dir)->{out} =~ /"points": (\d+)/
    } 0 .. 2;
    my ($most) = sort { $b <=> $a } @sizes;
    my $third = run([ @auto, qw(--folds-file thirds many) ], cwd => $dir);
    my ($points, $mean) =
        $third->{out} =~ /"points": (\d+),.*"n_sv": ([^,]+)/;
    is($points, $most, "auto: the most of folds, of @sizes");
    cmp_ok(abs($mean - ($sizes[0] + $sizes[1] + $sizes[2]) / 3), '<', 1e-9,
        '... each its own');
}
my $cut_off = run([ qw(klr-train --json -q -g 3 -c 3 --basis auto),
        qw(--time-limit 1e-9), "$dir/many", 'c' ], cwd => $dir);
like($cut_off->{out}, qr/"end": "cut"/, 'auto: cut off by the time');
my $small = run([ qw(klr-train --json -q -g 0.5 --basis auto), $heart, 'h' ],
    cwd => $dir);
like($small->{out}, qr/"end": "(enough|large)"/, 'auto: few examples');

# Labels without any structure need a point each.
srand 11;
put("$dir/noise", join '', map { sprintf "%d 1:%.4f 2:%.4f\n",
        rand() < 0.5 ? -1 : 1, rand 1, rand 1 } 1 .. 600);
my $noise = run([ qw(klr-train --json -q -g 3000 -c 100 --basis auto),
        "$dir/noise", 'n' ], cwd => $dir);
like($noise->{err}, qr/no small model exists: over 256 points all /,
    'auto: where no small model exists a warning tells so');
like($noise->{out}, qr/"end": "large"/, '... and the report');

# Examples that are held out have no part in the solution: by labels that mean
# nothing they gain nothing.
my $idle = train("$dir/noise", 'idle', qw(-q -g 20 -c 10 --basis auto),
    qw(--basis-tol 0.02));
is($idle->{'basis.excess'}, 0, 'auto: nothing to gain by more points');

put("$dir/points", join '', map { "$_\n" } 1 .. 20, 5);
is(train($heart, 'g', qw(--points points --sv-indices))->{n_sv}, 20,
    'points of a file, one of them twice');
my ($rows) = get("$dir/g") =~ /^sv_indices (.*)/m;
is(join(' ', sort { $a <=> $b } split ' ', $rows), join(' ', 1 .. 20),
    '... by their lines');
put("$dir/three", clusters(seed => 4, labels => [ 1, 2, 3 ], n => 90, d => 3));
put("$dir/large", clusters(seed => 11, labels => [ 4, -2, 7 ], n => 90, d => 3,
        zeros => 0));
for my $how (qw(ovo ova softmax)) {
    my $three = train("$dir/three", 't', '--multiclass', $how,
        qw(--basis 15));
    is($three->{status}, '"converged"', "$how: three classes");
    is($three->{n_sv}, 15, '... of 15 points in all');
}

# At a large C float entries err by more than the solution can bear.
for my $options (
    '-t 1 -g 0.1 -r 1 -c 1e7 --basis 20',
    '-t 1 -g 0.1 -r 1 -c 4096 --basis 50 --no-bias',
    '-t 1 -g 0.1 -r 1 -c 1e5 --basis 50 -s sklr --lambda 1',
    '-t 1 -g 0.1 -r 1 -c 4096 --basis 50 --multiclass softmax',
    '-t 1 -g 0.1 -r 1 -c 1e9 --basis 20 --multiclass softmax',
    '-t 2 -g 0.01 -c 1e5 --basis 50 --multiclass softmax'
)
{
    my $large = train("$dir/large", 'l', split / /, $options);
    is($large->{status}, '"converged"', "$options: converged");
    cmp_ok($large->{gap}, '<=', 1e-6, '... to the gap');
}

# Features of sizes from 0.1 to 1e4: by float directions steps crept.
{
    my $draw = uniform(104);
    put("$dir/sizes", join '', map {
        my $y = $_ % 2;
        join(' ', $y, map { "$_:" . sprintf '%.5g', 10**($_ - 2)
                * (1 + 0.4 * $y * $draw->() + $draw->()) } 1 .. 6) . "\n"
    } 1 .. 150);
    my $sizes = train("$dir/sizes", 's', qw(-t 0 --basis 50 -c 1000));
    is($sizes->{status}, '"converged"', 'features of many sizes');
    cmp_ok($sizes->{iterations}, '<', 40, '... in few iterations');
}

# ---- classes that share the points ----

put("$dir/four", clusters(seed => 5, labels => [ 1, 2, 3, 4 ], n => 2500,
        d => 4));
put("$dir/few", join '', map { "$_\n" } 1 .. 30);
# Classes 3 and 4 have the features of 1 and 2, and so no kernels of their own.
put("$dir/twins", join '', map { 1 + $_ % 4 . ' 1:' . $_ % 2 . "\n" } 1 .. 40);
my $rare = 0;
put("$dir/alone", join '', grep { !/^4/ || !$rare++ } split /^/,
    get("$dir/four"));
for my $how (qw(ova ovo softmax)) {
    my @link = $how eq 'softmax' ? () : qw(--link platt);
    my @four = (qw(-g 1 -c 3 -q --multiclass), $how, '--basis');
    train("$dir/four", "o.$_->[0]", @four, 120, @{ $_->[1] })
        for [ 0 => [qw(-j 1)] ], [ 1 => [qw(-j 3)] ],
        [ 2 => [qw(-j 2 -m 1)] ];
    is(get("$dir/o.$_"), get("$dir/o.0"), "$how: the same bytes") for 1, 2;
    my $shared = train("$dir/four", 'o', @four, 120);
    is($shared->{n_sv}, 120, '... of 120 points');
    cmp_ok($shared->{'basis.choice_passes'}, '>', 1, '... that were chosen');
    is(train("$dir/four", 'o', @four, 2)->{n_sv}, 4,
        '... or at least one of each class')
        if $how eq 'ovo';
    is(train("$dir/twins", 'o', @four, 8)->{status}, '"converged"',
        '... whose kernels may be those of others');
    my $drawn = train("$dir/four", 'o', @four, 120,
        qw(--basis-choice uniform));
    cmp_ok($shared->{objective}, '<', $drawn->{objective},
        '... better than drawn ones');
    my $path = run([ qw(klr-train --json), @four, 120, '-c', '0.3,3,30',
            "$dir/four", 'oc' ], cwd => $dir);
    my @costs = $path->{out} =~ /"objective": ([^,]+)/g;
    cmp_ok(abs($costs[1] / $shared->{objective} - 1), '<', 1e-5,
        '... along a path of C, chosen at the middle one');
    my ($one, $three) = map {
        run([ 'klr-train', @four, 40, qw(-v 3), @link, '-j', $_,
                "$dir/four", 'v' ], cwd => $dir)->{out}
    } 1, 3;
    like($one, qr/^Log loss = 0\.\d/m, '... in a validation');
    is($three, $one, '... whatever the threads');
    my $early = run([ 'klr-train', @four, 120, qw(--time-limit 1e-9),
            "$dir/four", 'e' ], cwd => $dir);
    is($early->{exit}, 0, '... cut off by the time');
    is(train("$dir/four", 'f', @four[ 0 .. 6 ], qw(--points few))->{n_sv}, 30,
        '... on points of a file');
    is(train("$dir/alone", 'b', @four, 40,
            qw(--basis-choice balanced))->{n_sv}, 40,
        '... balanced, with a class of one');
    cmp_ok(train("$dir/four", 'n', @four, 2)->{n_sv}, '<=', 4,
        '... fewer than classes');
    my $own = train("$dir/three", 'a', '--multiclass', $how,
        qw(--basis auto));
    is($own->{status}, '"converged"', '... auto: it finds a size, or each pair its own');
}

# A softmax, which is one problem for all classes: the bound to all examples
# holds, and probabilities are near theirs.
my @soft = (qw(-g 1 -c 3 -q --multiclass softmax));
my $every_point = train("$dir/four", 's', @soft);
my $few_points = train("$dir/four", 'f', @soft, qw(--basis 120));
my $higher = 1 - $every_point->{objective} / $few_points->{objective};
my ($limit, $off) = @$few_points{ 'basis.full_gap', 'basis.full_gap_error' };
cmp_ok($higher, '<', $limit + 3 * $off, 'softmax: the bound to all points');
cmp_ok($higher, '>', $limit / 2 - 3 * $off, '... closely');
cmp_ok($few_points->{'basis.passes'}, '<', 25, '... in few passes');
my ($few_loss, $all_loss) = map {
    run([ qw(klr-predict --json -q), "$dir/four", $_, 'p' ], cwd => $dir)->{out}
        =~ /"log_loss": ([^,]+)/
} 'f', 's';
cmp_ok(abs($few_loss - $all_loss), '<', 0.01, '... log loss as of all');
for my $how (qw(softmax ova)) {
    my @how = (qw(-g 1 -c 3 -q --multiclass), $how);
    my $enough = train("$dir/four", 'a', @how, qw(--basis auto));
    is($enough->{'basis.end'}, '"enough"', "$how by auto: a size that suffices");
    is($enough->{n_sv}, $enough->{'basis.points'}, '... of points in all');
    train("$dir/four", 'b', @how, '--basis', $enough->{'basis.points'});
    is(get("$dir/b") =~ s/^options .*\n//mr,
        get("$dir/a") =~ s/^options .*\n//mr, '... as --basis with that number');
    train("$dir/four", 'c', @how, qw(--basis auto -j 3 -m 1));
    is(get("$dir/c"), get("$dir/a"), '... whatever threads and memory');
    train("$dir/four", 'd', @how);
    my ($few, $all) = map {
        run([ qw(klr-predict --json -q), "$dir/four", $_, 'p' ], cwd => $dir)
            ->{out} =~ /"log_loss": ([^,]+)/
    } 'a', 'd';
    cmp_ok(abs($few - $all), '<', 0.003, '... log loss as of all');
}
my ($left, $again_left, $folds) = map {
    run([ 'klr-train', @soft, qw(--basis 60), @$_, "$dir/four", 'l' ],
        cwd => $dir)->{out} =~ /Log loss = (\S+)/
} [qw(--loo -j 1)], [qw(--loo -j 3 -m 40)], [qw(-v 10)];
is($again_left, $left, '... left out: whatever threads and memory');
cmp_ok(abs($left / $folds - 1), '<', 0.03, '... as by ten folds');
my $weighted = train("$dir/four", 'w', @soft, qw(--basis 120 -w2 5 --no-bias));
my $whole = train("$dir/four", 'v', @soft, qw(-w2 5 --no-bias));
cmp_ok(abs($weighted->{objective} / $whole->{objective} - 1), '<', 0.1,
    '... with weights, without bias');

my $stopped = train($heart, 's', qw(--basis 40 --max-iter 1 -q -c 1000));
ok(-e "$dir/s", 'stopped early, with a model');
my $cut = run([ qw(klr-train --basis 100 --time-limit 1e-9), $heart, 'c' ],
    cwd => $dir);
is($cut->{exit}, 0, 'a limit of time that is over');
like($cut->{err}, qr/the limit of time was reached/, '... is told');

# ---- sklr: the shifted loss ----

# The judge, which shares no code, tells the objective of the model, and a dual
# of all examples, by which the bound holds.
put("$dir/shifted", clusters(seed => 9, labels => [ 1, -1, -1 ], n => 700,
        d => 4));
my @sparse = (qw(-s sklr -g 1 -q --link consistent));
for my $case ([ 30, 3, 1e-5 ], [ 3, 0.3, 0.1 ], [ 300, 0, 0 ],
    [ 10, 4, 0.5 ])
{
    my ($cost, $lambda, $box) = @$case;
    my @loss = (@sparse, '-c', $cost, '-l', $lambda, '--box', $box);
    my $few = train("$dir/shifted", 'f', @loss, qw(--basis 40),
        qw(--basis-bound exact));
    my ($judged) = evaluate('sklr', "$dir/shifted", "$dir/f", $cost, $lambda,
        $box);
    train("$dir/shifted", 'a', @loss, qw(-e 1e-9 --keep-bounded));
    my ($all) = evaluate('sklr', "$dir/shifted", "$dir/a", $cost, $lambda,
        $box);
    my $size = abs $judged->{primal};
    is($few->{status}, '"converged"', "sklr, C = $cost: converged");
    cmp_ok(abs($few->{objective} - $judged->{primal}), '<=', 1e-9 * $size,
        '... its objective');
    cmp_ok($judged->{primal} - $judged->{primal_best}, '<=', 1e-9 * $size,
        '... its threshold');
    my ($over, $told) = (($judged->{primal} - $all->{dual}) / $size,
        $few->{'basis.full_gap'});
    cmp_ok($over, '<=', $told + 1e-8, '... the bound holds');
    cmp_ok($told, '<=', 2 * $over + 2e-6, '... closely');
    # All are points, but for those that others span to 1e-7 of K_ii.
    my $every = train("$dir/shifted", 'e', @loss, qw(--basis 700 -e 1e-9),
        qw(--basis-bound exact));
    my $off = ($every->{objective} - $all->{dual}) / $size;
    cmp_ok($off, '<=', $every->{'basis.full_gap'} + 1e-8,
        '... of all points, too');
    cmp_ok(abs $off, '<=', 5e-6, '... the optimum');
}

# Examples next to an end of the box make no steps short.
my ($boxed, $free) = map {
    train("$dir/many", 'b', @sparse, qw(-c 10 -l 4 --basis 100 --box), $_)
} qw(1e-3 0);
cmp_ok($boxed->{'basis.passes'}, '<=', $free->{'basis.passes'} + 1,
    'sklr: as few passes as without a box');

train("$dir/many", "s.$_->[0]", @sparse, qw(-c 30 --basis 150), @{ $_->[1] })
    for [ 0 => [qw(-j 1)] ], [ 1 => [qw(-j 3)] ], [ 2 => [qw(-j 2 -m 1)] ];
is(get("$dir/s.$_"), get("$dir/s.0"), 'sklr: the same bytes') for 1, 2;
my $sizes = train("$dir/many", 's', @sparse, qw(-c 30 -l 1 --basis auto));
is($sizes->{'basis.end'}, '"enough"', '... auto: a size that suffices');
cmp_ok($sizes->{'basis.excess'} + 2 * $sizes->{'basis.excess_error'}, '<',
    0.001, '... by the log loss of its link');
train("$dir/many", 'e', @sparse, qw(-c 30 -l 1));
my ($some, $full) = map {
    run([ qw(klr-predict --json -q), "$dir/more", $_, 'p' ], cwd => $dir)->{out}
        =~ /"log_loss": ([^,]+)/
} 's', 'e';
cmp_ok($some - $full, '<', 0.001, '... which is as near to that of all');

my @grid = (qw(klr-train -s sklr --basis 40 -q -c), '3:30:x10');
my $costs = run([ qw(klr-train -s sklr --basis 40 --json -c), '3,30', $heart,
        'sc' ], cwd => $dir);
is(() = $costs->{out} =~ /"points": 40\b/g, 2, '... along a path of C');
my $cells = run([ @grid, '-l', '0.01c:1c:x10', qw(-v 3), $heart, 'sv' ],
    cwd => $dir);
like($cells->{out}, qr/^Best .*lambda/m, '... in a grid of lambda');
is(run([ @grid, '-l', '0.01c:1c:x10', qw(-v 3 -j 3), $heart, 'sv' ],
        cwd => $dir)->{out}, $cells->{out}, '... whatever the threads');
my ($left_out, $ten) = map {
    run([ @grid, qw(--link consistent), @$_, $heart, 'sl' ], cwd => $dir)->{out}
        =~ /Log loss = (\S+)/
} [qw(--loo)], [qw(-v 10)];
cmp_ok(abs($left_out / $ten - 1), '<', 0.05, '... and left out in closed form');
put("$dir/double", "2\n" x 700);
my ($twice, $weights) = map { train("$dir/shifted", 'w', @sparse, @$_) }
    [qw(-c 6 -l 1 --basis 40)], [qw(-c 3 -l 1 --basis 40 --weights double)];
is($weights->{objective}, $twice->{objective}, '... with weights');
is(train($heart, 'g', qw(-s sklr --points points))->{n_sv}, 20,
    '... on points of a file');
for my $how (qw(ovo ova)) {
    my $three = train("$dir/three", 't', qw(-s sklr --multiclass), $how,
        qw(--basis 15));
    is($three->{status}, '"converged"', "... three classes by $how");
    is($three->{n_sv}, 15, '... which share the points');
}

# ---- refusals ----

refused('option --basis: only klr and sklr by newton have one, not svm by smo',
    qw(-s svm --basis 9));
refused('option --basis: only klr and sklr by newton have one, not klr by smo',
    qw(-a smo --basis 9));
refused('option --loo: a softmax has no closed form but on a basis \(--basis\); '
        . 'ovo, ova and ddag have one', qw(--multiclass softmax --loo));
refused('option -a: smo does not train a softmax; solvers that do: newton',
    qw(--multiclass softmax --basis 9 -a smo));
refused('option --basis: only klr and sklr by newton have one, not ivm by greedy',
    qw(-s ivm --basis 9));
refused('option --keep-bounded: coefficients on a basis have no box',
    qw(-s sklr --basis 9 --keep-bounded));
refused('option --lambda-bound: it is of all examples, not of a basis',
    qw(-s sklr --basis 9 --lambda-bound));
refused('option --box: 20 is not less than half of C = 30',
    qw(-s sklr --basis 9 --box 20));
refused('option --loo: a fitted link is fitted on all examples; sigma, shrunk, '
        . 'consistent and none are not fitted',
    qw(-s sklr --basis 9 --loo));
refused('option --basis-choice: there is no basis',
    qw(--basis-choice uniform));
refused('option --basis-bound: there is no basis', qw(--basis-bound none));
refused('option --points: nothing is left to choose by --basis',
    qw(--points points --basis 9));
refused('option --basis-tol: only --basis auto has a tolerance',
    qw(--basis 9 --basis-tol 0.1));
refused('option --basis-choice: --basis auto chooses points by growing',
    qw(--basis auto --basis-choice uniform));
refused("option --basis: 'some' is neither an integer nor auto",
    qw(--basis some));
refused('option -t: ', qw(-t sigmoid --basis 9));

done_testing();
