# SPDX-License-Identifier: BSD-3-Clause
#
# Linear models of sparse rows, which are trained by products with the features:
# at the optimum, as the judge finds it from the support vectors.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();

# Texts of unit length: words by a Zipf law, of which each has a taste.
sub texts
{
    my (%arg) = @_; # seed, n, d, words, classes
    my $random = uniform($arg{seed});
    my $text = '';
    for my $i (0 .. $arg{n} - 1) {
        my (%count, $square, @taste);
        $count{ int $arg{d}**$random->() }++ for 1 .. $arg{words};
        $square += $_**2 for values %count;
        $taste[ $_ * 7919 % $arg{classes} ] += $count{$_} for keys %count;
        my ($class) = sort { ($taste[$b] // 0) <=> ($taste[$a] // 0) }
            0 .. $arg{classes} - 1;
        $class = int $arg{classes} * $random->() if $random->() < 0.15;
        $text .= join(' ', $class, map {
            sprintf '%d:%.6g', $_, $count{$_} / sqrt $square
        } sort { $a <=> $b } keys %count) . "\n";
    }
    return put("$dir/$arg{name}", $text);
}

my $two = texts(name => 'two', seed => 5, n => 300, d => 3000, words => 12,
    classes => 2);
my $three = texts(name => 'three', seed => 6, n => 240, d => 3000, words => 12,
    classes => 3);

for my $case (
    [ 'klr', 1, 1e-6 ], [ 'klr', 100, 1e-6 ], [ 'klr', 1e4, 1e-6 ],
    [ 'klr', 10, 1e-6, '--no-bias' ], [ 'svm', 0.1, 1e-4 ],
    [ 'svm', 1, 1e-4 ], [ 'svm', 1000, 1e-4 ], [ 'svm', 1, 1e-4, '--no-bias' ],
    [ 'svm', 10, 1e-4, '-w0 0.3' ], [ 'klr', 10, 1e-6, '-w0 0.3' ],
    [ 'klr', 3, 1e-6, '-a smo' ])
{
    my ($model, $cost, $gap, $option) = (@$case, '');
    for my $data ($two, $three) {
        my $said = trained($data, "$dir/model", split(' ', $option),
            '-s', $model, '-t', 0, '-c', $cost, '--gap', $gap);
        my @judge = $option =~ /no-bias/ ? '--no-bias'
            : $option =~ /-w0/ ? '0=0.3' : ();
        my @judged = evaluate($model, $data, "$dir/model", $cost, @judge);
        my ($worst) = sort { $b <=> $a }
            map { $_->{gap} / abs($_->{primal}) } @judged;
        cmp_ok($worst, '<', 2 * $gap, "$model, C = $cost $option: the gap");
        is($said->{status}, 'converged', 'as it says itself');
        my ($primal, $sum) = (0, 0);
        for (@judged) {
            $primal += $_->{primal};
            $sum += abs $_->{sum_beta} if $option !~ /no-bias/;
        }
        cmp_ok(abs($said->{objective} / $primal - 1), '<', 1e-7,
            'the objective');
        cmp_ok($sum, '<', 1e-10 * $cost, 'coefficients have the sum 0');
    }
}

# The features say nearly all: of entries of K SMO is left few, and none where
# there is no bias; conjugate gradients take a step for each of Newton's.
for my $case ([ 'svm -c 1', 'kernel_evals', 20 ],
    [ 'svm -c 10 -w0 0.3', 'kernel_evals', 20 ],
    [ 'svm -c 1 --no-bias', 'kernel_evals', 0 ], [ 'klr -c 1', 'iterations' ])
{
    my ($options, $key, $most) = @$case;
    for my $one ([ $two, 1, 300 ], [ $three, 3, 480 ]) {
        my ($data, $machines, $examples) = @$one;
        my $said = trained($data, "$dir/model", '-s', split(' ', $options),
            qw(-t linear --gap 1e-4));
        cmp_ok($said->{$key}, '<=', defined $most ? $most * $examples
            : 3 * $machines, "$options, $machines machines: few $key");
    }
}

# Wherever the descent ends that knows of no constraint: what its sum of the
# coefficients is short of 0 comes from examples that have room.
for my $case (map { my $c = $_; map { [ $c, $_ ] } 100, 200, 400, 800 }
    0.1, 0.5, 2)
{
    my ($cost, $most) = @$case;
    run([ qw(klr-train -q -s svm -t linear --keep-sv -e 1e-9 -c), $cost,
            '--max-iter', $most, $two, "$dir/model" ]);
    my ($judged) = evaluate('svm', $two, "$dir/model", $cost);
    cmp_ok(abs $judged->{sum_beta}, '<', 1e-10 * $cost,
        "C = $cost, $most steps: the sum is 0");
    cmp_ok($judged->{excess}, '<=', 1e-15, '... within the bounds');
}

# A path of C ends where its last C alone does.
for my $model (qw(klr svm)) {
    my $alone = printed_json(run([ qw(klr-train -q --json -t linear -s), $model,
            '-c', 8, $two, "$dir/path" ]));
    my $path = run([ qw(klr-train -q --json -t linear -s), $model, '-c',
            '0.5,2,8', $two, "$dir/path" ])->{out};
    my ($last) = $path =~ /.*"objective": ([-\d.e]+)/s;
    cmp_ok(abs($last / $alone->{objective} - 1), '<', 1e-3,
        "$model: the end of a path");
}

# Whatever -j and -m are.
for my $options ('-s klr', '-s svm', '-s klr --multiclass softmax',
    '-s svm --max-iter 150', '-s kfd', '-s sklr')
{
    my @bytes = map {
        my $run = run([ qw(klr-train -q -t linear), split(' ', $options),
                split(' ', $_), $three, "$dir/bytes" ]);
        $run->{exit} == 0 ? get("$dir/bytes") : $run->{err};
    } '-j 1', '-j 3 -m 2';
    is($bytes[1], $bytes[0], "$options: the same bytes");
    like($bytes[0], qr/^klr_format/m, 'of a model');
}

# A softmax, by features and by entries of K.
{
    my $x = [ map { [ (split)[0], { /(\d+):(\S+)/g } ] } split /\n/,
        get($three) ];
    my $gram = '';
    for my $i (0 .. $#$x) {
        my ($label, $row) = @{ $x->[$i] };
        $gram .= "$label 0:" . ($i + 1);
        for my $j (0 .. $#$x) {
            my ($sum, $other) = (0, $x->[$j][1]);
            $sum += $row->{$_} * ($other->{$_} // 0) for keys %$row;
            $gram .= sprintf ' %d:%.17g', $j + 1, $sum if $sum;
        }
        $gram .= "\n";
    }
    put("$dir/gram", $gram);
    for my $options ('--multiclass softmax -c 30', '-s kfd') {
        my ($features, $entries) = map {
            printed_json(run([ qw(klr-train -q --json), split(' ', $options),
                        @$_, "$dir/model" ]))
        } [ '-t', 'linear', $three ], [ '-t', 'precomputed', "$dir/gram" ];
        cmp_ok(abs($features->{objective} / $entries->{objective} - 1), '<',
            2e-6, "$options: by features as by entries of K");
    }
}

done_testing();
