#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Kernel logistic regression on a basis of many examples, where most of the way
# goes by a part of them: the same bytes whatever the threads and the memory, and
# the solution of all examples, a rare class among them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use KLR;
use Judge;
use Test::More;

my $dir = scratch();
my $n = 33000; # four times 128 for each of 60 points, and more
my @rows = split /^/, clusters(seed => 3, labels => [ 1, -1 ], n => $n, d => 3);
put("$dir/many", join '', @rows);

sub train
{
    my ($data, $model, @options) = @_;
    return trained("$dir/$data", "$dir/$model", qw(-g 1 -c 3), @options);
}

my @basis = qw(--basis 60);
train('many', "m.$_->[0]", @basis, @{ $_->[1] })
    for [ 0 => [qw(-j 1)] ], [ 1 => [qw(-j 7)] ], [ 2 => [qw(-j 2 -m 1)] ];
is(get("$dir/m.$_"), get("$dir/m.0"), 'the same bytes') for 1, 2;

my $grown = train('many', 'g', @basis);
my $drawn = train('many', 'd', @basis, qw(--basis-choice uniform));
is($grown->{status}, 'converged', 'converged');
cmp_ok($grown->{gap}, '<=', 1e-6, '... to the gap of all examples');
cmp_ok($grown->{basis}{choice_passes}, '<', 1.5, '... by points of a part');
cmp_ok($grown->{objective}, '<', $drawn->{objective},
    '... that are better than drawn ones');

# The points that were grown, given: no part of the examples chooses them.
my ($lines) = do {
    train('many', 'lines', @basis, '--sv-indices');
    get("$dir/lines") =~ /^sv_indices (.*)/m;
};
put("$dir/points", join '', map {"$_\n"} split ' ', $lines);
my $given = train('many', 'p', '--points', "$dir/points", '-e', '1e-9');
cmp_ok(abs($given->{objective} / $grown->{objective} - 1), '<', 1e-6,
    'the same optimum from another start');

# With some more points there is no part, and little is left to gain.
put("$dir/more", join '', get("$dir/points"), map {"$_\n"} 101 .. 110);
my $more = train('many', 'o', '--points', "$dir/more");
cmp_ok(abs($more->{objective} / $grown->{objective} - 1), '<', 1e-4,
    'and it is that of all examples');

# One example of a class in a thousand.
my $often = 0;
put("$dir/rare", join '', grep { !/^-/ || $often++ % 1000 == 0 } @rows, @rows);
my $rare = train('rare', 'r', qw(--basis 40));
is($rare->{status}, 'converged', 'a rare class: converged');
cmp_ok($rare->{basis}{choice_passes}, '<', 2, '... by a part');
my ($of_rare) = get("$dir/r") =~ /^nr_sv \d+ (\d+)$/m;
cmp_ok($of_rare, '>=', 5, '... with points of it');

# Several classes, and C.
put("$dir/three", clusters(seed => 4, labels => [ 1, 2, 3 ], n => 25000,
        d => 3));
train('three', "t.$_", qw(--basis 40 --multiclass ova -j), $_) for 1, 3;
is(get("$dir/t.3"), get("$dir/t.1"), 'classes: the same bytes');
my $path = run([ qw(klr-train --json -q -g 1 --basis 40 -c), '0.3,3,30',
        "$dir/many", 'c' ], cwd => $dir);
my @gaps = $path->{out} =~ /"gap": ([^,]+)/g;
is(scalar(grep { $_ <= 1e-6 } @gaps), 3, 'a path of C: all to the gap');

done_testing();
