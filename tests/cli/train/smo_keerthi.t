#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# -a smo1 on heart_scale, judged by the independent evaluator; --gap,
# --keep-bounded and --lambda-bound as the command line has them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();
my @eps = (-e => '1e-5');

# Every C of a path is the optimum, with and without bias, weights, and for the
# sparse model; and what is printed is what the evaluator finds.
for my $free ([], ['--no-bias']) {
    my @costs = (0.1, 1, 10, 100, 1000);
    my $run = run([ qw(klr-train -q -a smo1 -g 0.05), @eps, @$free,
        -c => join(',', @costs), 'heart_scale', "$dir/path" ]);
    is($run->{exit}, 0, "a path by smo1 @$free") or diag($run->{err});
    for my $cost (@costs) {
        my ($judged) =
            evaluate('klr', 'heart_scale', "$dir/path.$cost", $cost, @$free);
        ok($judged->{model_gap} < 1e-7 && $judged->{excess} <= 0
                && $judged->{violation} < 3e-5,
            "C = $cost @$free: gap $judged->{model_gap}, violation"
            . " $judged->{violation}");
    }
}
sub coefficients
{
    my ($lines) = get("$dir/model") =~ /^SV\n((?:\S+(?: \d+:\S+)+ ?\n)*)/m;
    return map { (split)[0] } split /\n/, $lines;
}
my $dropped = 0;
for my $case ([0.1, 0], [10, 1], [100, 100], [1000, 30]) {
    my ($cost, $lambda) = @$case;
    my @options = (qw(-s sklr -a smo1 -g 0.05), @eps, -c => $cost,
        -l => $lambda);
    trained('heart_scale', "$dir/model", @options);
    my @left = coefficients();
    my $ours =
        trained('heart_scale', "$dir/model", @options, '--keep-bounded');
    my @all = coefficients();
    is_deeply(\@left, [ grep { abs > 1e-5 } @all ],
        'the model has those inside the box: ' . @left);
    $dropped += @all - @left;
    my ($judged) =
        evaluate('sklr', 'heart_scale', "$dir/model", $cost, $lambda, 1e-5);
    ok($judged->{model_gap} < 1e-7 && $judged->{excess} <= 1e-15
            && $ours->{n_sv} == 270,
        "sklr C = $cost, lambda = $lambda: gap $judged->{model_gap}");
}
ok($dropped, "$dropped were at its end");
{
    trained('heart_scale', "$dir/model", qw(-a smo1 -g 0.05 -c 10 -w1 0.2
        -w-1 3), @eps);
    my ($judged) =
        evaluate('klr', 'heart_scale', "$dir/model", 10, '1=0.2', '-1=3');
    ok($judged->{model_gap} < 1e-7, "weights: gap $judged->{model_gap}");
}

# What is left when --gap ends training is that gap, whatever -e says.
for my $options ('-a smo', '-a smo1', '-a smo1 --no-bias', '-a newton',
    '-s svm', '-s svm -h 0')
{
    for my $gap (0.05, 1e-6) {
        my $ours = trained('heart_scale', "$dir/model", split(' ', $options),
            qw(-g 0.05 -c 10 -e 100), '--gap' => $gap);
        my @free = $options =~ /no-bias/ ? '--no-bias' : ();
        my ($judged) = evaluate($options =~ /svm/ ? 'svm' : 'klr',
            'heart_scale', "$dir/model", 10, @free);
        ok($judged->{model_gap} <= 1.1 * $gap && $ours->{gap} <= $gap,
            "$options --gap $gap: $judged->{model_gap}");
    }
}

# A gap below what rounding hides is never called reached.
for my $options ('-a smo', '-a smo1', '-s svm', '-s svm -h 0') {
    my $json = printed_json(run([ qw(klr-train -q --json --gap 1e-20),
        split(' ', $options), 'heart_scale', '/dev/null' ]));
    is($json->{status}, 'precision_limit', "$options: a gap of $json->{gap}");
    cmp_ok($json->{gap}, '<', 1e-12, "$options: as small as it gets");
}

# The one step there is leaves no violation at all, and a gap of rounding errors
# or none.
for my $case ([ 0.1, '-1 1:0.5', '1 1:-1 2:0.5' ],
    [ 1000, '-1 1:0.5', '1 1:1 2:2' ], [ 1000, '-1 1:2', '1 1:1 2:1' ])
{
    my ($cost, @rows) = @$case;
    my $run = run([ qw(klr-train -q --json -t 0 -a smo --gap 1e-300 -c), $cost,
        put("$dir/two", join '', map {"$_\n"} @rows), '/dev/null' ]);
    like(printed_json($run)->{status}, qr/^(converged|precision_limit)$/,
        "--gap below what rounding leaves ends: $rows[1]");
}

# Where all alpha are at a bound there is no gap at all.
{
    my $run = run([ qw(klr-train -q --json -s svm -t 0 -c 0.1 --gap 1e-300),
        put("$dir/bound", "1 1:0.3\n-1 1:-0.17\n"), '/dev/null' ]);
    is(printed_json($run)->{status}, 'converged',
        '--gap with all alpha at a bound ends');
}

# The same model for any number of threads and any memory.
{
    my %bytes;
    for my $options ('-j 1', '-j 3', '-m 0.05') {
        run([ qw(klr-train -q -a smo1 -c 10), split(' ', $options),
            'heart_scale', "$dir/model" ]);
        $bytes{ get("$dir/model") }++;
    }
    is(scalar keys %bytes, 1, 'the same bytes for any -j and -m');
}

# A bound for each C: one line each, or a key.
{
    my @options = qw(-q -s sklr -g 0.05 --lambda-bound);
    my $run = run([ 'klr-train', @options, '-c', '1,10', 'heart_scale',
        "$dir/path" ]);
    my @bounds = $run->{out} =~ /^C = \d+: lambda bound = (\S+)$/gm;
    is(scalar @bounds, 2, 'a line for each C') or diag($run->{out});
    my $ours = trained('heart_scale', "$dir/model", @options, '-c', 10);
    ok(abs($ours->{lambda_bound} / $bounds[1] - 1) < 1e-4
            && $bounds[1] > $bounds[0], "bounds: @bounds");
    $run = run([ 'klr-train', @options, '-c', 10, 'heart_scale',
        "$dir/model" ]);
    like($run->{out}, qr/^lambda bound = \S+\n\z/, 'one alone');
    ok(!exists trained('heart_scale', "$dir/model", qw(-s sklr))
            ->{lambda_bound}, 'none unless asked for');
}

# Where few cached rows have room, examples of a hinge are set aside at the same
# steps as where all have.
{
    my $random = uniform(5);
    put("$dir/large", join '', map {
        my $label = $random->() < 0.5 ? 1 : -1;
        my @x = map { sprintf '%.5f', 2 * $random->() - 1 } 1 .. 4;
        $x[0] += 0.8 * $label;
        "$label 1:$x[0] 2:$x[1] 3:$x[2] 4:$x[3]\n";
    } 1 .. 9000);
    my %text;
    for my $mb (2, 300) {
        trained("$dir/large", "$dir/model", qw(-s svm -g 1 -c 3 -m), $mb);
        $text{ get("$dir/model") } = 1;
    }
    is(keys %text, 1, 'the same svm with -m 2 and -m 300');
}

done_testing();
