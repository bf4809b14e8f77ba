# SPDX-License-Identifier: BSD-3-Clause
#
# Examples that repeat each other are solved as one. The peer is the same data
# with one more feature that makes all rows different and no distance.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Judge;
use KLR;

my $dir = scratch();

# Few integer features: most rows come several times, some in two classes.
sub repeated
{
    my ($n, $classes, $seed) = @_;
    my @rows;
    for my $i (1 .. $n) {
        my @x = map { $seed = ($seed * 1103515245 + 12345) % 2**31;
            int($seed / 2**16) % 4 } 1 .. 3;
        $seed = ($seed * 1103515245 + 12345) % 2**31;
        my $noise = int($seed / 2**16) % 10 == 0 ? 1 : 0;
        my $class = 1 + ($x[0] + $x[1] * $x[2] + $noise) % $classes;
        push @rows, "$class 1:$x[0] 2:$x[1] 3:$x[2]\n";
    }
    return @rows;
}

sub different
{
    my $i = 0;
    return map { $i++; s/$/sprintf ' 4:%.17g', 1e-11 * $i/er } @_;
}

# Probabilities, which are the last columns.
sub columns
{
    my ($text, $first) = @_;
    return [ map { my @f = split; [ @f[ $first .. $#f ] ] }
            grep { !/labels/ } split /\n/, $text ];
}

sub largest_difference
{
    my ($x, $y) = @_;
    my $most = @$x == @$y ? 0 : 9**9**9;
    for my $i (0 .. $#$x) {
        for my $j (0 .. $#{ $x->[$i] }) {
            my $d = abs($x->[$i][$j] - ($y->[$i][$j] // 9**9**9));
            $most = $d if !($d <= $most);
        }
    }
    return $most;
}

my %data = (two => [ repeated(400, 2, 5) ], three => [ repeated(400, 3, 6) ]);
# The larger class has fewer different rows.
$data{uneven} = [ map { /^1/ ? ($_, $_) : $_ } @{ $data{two} } ];
for my $name (keys %data) {
    put("$dir/$name", join '', @{ $data{$name} });
    put("$dir/$name.apart", join '', different(@{ $data{$name} }));
    my %seen;
    put("$dir/$name.count", scalar grep { !$seen{$_}++ } @{ $data{$name} });
}
# Of the rows that repeat each other the last ones.
my %last = map { $data{two}[ $_ - 1 ] => $_ } 1 .. 400;
put("$dir/last", join '', map {"$_\n"} sort { $a <=> $b } values %last);
put("$dir/few_rows", join '', map {"$_\n"} 1 .. 10);
put("$dir/weights", join '', map { 1 + $_ % 3 . "\n" } 1 .. 400);

for my $case (
    [ two => qw(-s klr) ], [ two => qw(-s klr -a smo -e 1e-6) ],
    [ two => qw(-s klr --no-bias -c 10) ], [ two => qw(-s klr --balance) ],
    [ two => qw(-s svm -e 1e-7) ], [ two => qw(-s klr -t linear) ],
    [ two => '-s', 'klr', '--weights', "$dir/weights" ],
    [ two => qw(-s klr --basis 400 --basis-choice uniform) ],
    [ two => '-s', 'klr', '--points', "$dir/last" ],
    [ two => qw(-s svm -e 1e-7), '--weights', "$dir/weights" ],
    [ uneven => qw(-s sklr --link sigma -l 1 --box 0.5 --lambda-bound) ],
    [ two => qw(-s sklr --link sigma -c 10 -l 1 -a smo -e 1e-6) ],
    [ two => qw(-s sklr --link sigma -c 1 --box 0.1 --no-bias -a smo1) ],
    [ two => qw(-s sklr --link sigma -c 10 -l 3 --box 0.01), '--points',
        "$dir/few_rows", qw(--basis-bound exact) ],
    [ three => qw(-s sklr --link sigma -c 10 -l 1) ],
    [ three => qw(-s klr -w2 3) ], [ three => qw(-s klr --multiclass softmax) ],
    [ three => qw(-s klr --multiclass ova) ])
{
    my ($name, @options) = @$case;
    my @gamma = grep({ $_ eq 'linear' } @options) ? () : (-g => 0.3);
    # A gap of 1e-6 leaves 1e-2 of decision values open.
    push @options, qw(--gap 1e-9) unless grep { $_ eq '-e' } @options;
    my (@report, @answer);
    for my $file ("$dir/$name", "$dir/$name.apart") {
        my $train = run([ qw(klr-train -q --json), @gamma, @options, $file,
                "$dir/model" ]);
        is($train->{exit}, 0, "@options: trains") or diag($train->{err});
        my $predict = run([ qw(klr-predict -q --decision), $file,
                "$dir/model", "$dir/out" ]);
        push @report, printed_json($train);
        push @answer, columns(get("$dir/out"), 1);
    }
    my ($merged, $apart) = @report;
    my ($p, $q) = map { $_->{objective} } @report;
    cmp_ok(abs($p - $q), '<=', 1e-5 * abs($q), "@options: one objective");
    cmp_ok(largest_difference(@answer), '<=', 5e-3,
        "@options: one set of answers");
    if (grep {/bound/} @options) {
        my ($b, $c) = map { $_->{lambda_bound} // $_->{basis}{full_gap} }
            @report;
        cmp_ok(abs($b - $c), '<=', 1e-5 * abs $c, "@options: one bound");
    }
    cmp_ok($merged->{n_sv}, '<=', get("$dir/$name.count"),
        "@options: at most as many support vectors as different rows");
    is($merged->{n_different}, get("$dir/$name.count"),
        "@options: different rows are counted");
    cmp_ok($merged->{kernel_evals}, '<', $apart->{kernel_evals},
        "@options: less of K");
}

# The box of an sklr is that of each example: as the evaluator has it, which
# gives each row its part. Where links are fitted, rows of different parts stay
# apart.
for my $options ([qw(-l 1)], [qw(-l 20 --box 0.5)], [qw(-l 50 --box 3)],
    [qw(-l 20 --box 0.5 --link sigma)], [qw(-l 20 --box 0.5 -a smo -e 1e-5)])
{
    my ($lambda, $box) = "@$options" =~ /-l (\S+)(?: --box (\S+))?/;
    my @training = (qw(-s sklr -g 0.3 -c 100), @$options);
    my $ours = trained("$dir/two", "$dir/model", @training) // next;
    my ($judged) = evaluate('sklr', "$dir/two", "$dir/model", 100, $lambda,
        $box // 1e-5);
    cmp_ok($ours->{n_different}, '<', 400, "@training: rows are one");
    cmp_ok($judged->{excess}, '<=', 1e-15, "@training: each in its box");
    cmp_ok(abs($judged->{dual} - $ours->{dual}), '<=',
        1e-8 * abs $judged->{dual}, "@training: the dual is that of all rows");
    cmp_ok(abs($judged->{primal} - $ours->{objective}), '<=',
        1e-8 * abs $judged->{primal}, "@training: so is the objective");
}
for my $weights ([ '--weights', "$dir/weights" ], [qw(-w2 3)], ['--balance'])
{
    my $train = run([ qw(klr-train -q --json -s sklr --link sigma), @$weights,
            "$dir/two", "$dir/model" ]);
    is(printed_json($train)->{n_different}, 400,
        "sklr @$weights: a box does not follow from the cost");
}

# Of coefficients of one kernel the l1/2 regularizer is smallest where all but
# one are 0.
for my $options ([qw(-c 3)], [qw(-c 30)], [qw(--no-bias)]) {
    my ($merged, $apart) = map {
        my $train = run([ qw(klr-train -q --json -s lhalf -g 0.3), @$options,
                $_, "$dir/model" ]);
        is($train->{exit}, 0, "lhalf @$options: trains") or diag($train->{err});
        printed_json($train);
    } "$dir/two", "$dir/two.apart";
    is($merged->{n_different}, get("$dir/two.count"),
        "lhalf @$options: different rows are counted");
    cmp_ok($merged->{objective}, '<=', $apart->{objective} * (1 + 1e-6),
        "lhalf @$options: the objective is no larger");
}

# Folds are dealt before rows are merged: each fold has the same examples.
for my $options ([ two => () ], [ three => () ],
    [ two => '--weights', "$dir/weights" ],
    [ two => qw(-s sklr --link sigma -c 10 -l 1) ])
{
    my ($name, @options) = @$options;
    my @held = map {
        my $run = run([ qw(klr-train -q -v 4 -g 0.3 --gap 1e-9), '--cv-out',
                "$dir/held", @options, $_ ]);
        is($run->{exit}, 0, 'validates') or diag($run->{err});
        columns(get("$dir/held"), 3);
    } "$dir/$name", "$dir/$name.apart";
    is(scalar @{ $held[0] }, 400, 'an answer for each example');
    cmp_ok(largest_difference(@held), '<=', 1e-3, "$name: the same answers");
}

# Few repeats are left alone.
my @few = map {"$_\n"} grep {length} split /\n/, get("$dir/two.apart");
put("$dir/few", join '', @few, @few[ 0 .. 9 ]);
my $run = run([ qw(klr-train -q --json -g 0.3), "$dir/few", "$dir/model" ]);
is(printed_json($run)->{n_sv}, 410, 'ten of 410 rows stay two each');

# Rows of the same values differ by the feature that has them.
put("$dir/hot", join '', map { my $row = $_ % 2 . " $_:1\n"; ($row, $row) }
        1 .. 200);
$run = run([ qw(klr-train -q --json -g 0.3), "$dir/hot", "$dir/model" ]);
is(printed_json($run)->{n_different}, 200, 'a feature each');

# Errors name the row of the file.
my $bad = join '', @{ $data{two} };
put("$dir/bad", $bad . "1 1:1e200 2:1\n1 1:1 2:1\n");
$run = run([ qw(klr-train -q -t polynomial -d 3 -g 1), "$dir/bad",
        "$dir/model" ]);
is($run->{exit}, 1, 'a kernel that overflows');
like($run->{err}, qr/bad:401:/, 'by its line');

done_testing();
