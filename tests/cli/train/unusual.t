# SPDX-License-Identifier: BSD-3-Clause
#
# Parameters that few ask for: gamma below 0 where products may have either
# sign, an sklr without a box, an svm with beta'beta that has nearly all examples
# on its margin, and, in models of svm-train, gamma 0.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();
put("$dir/data", clusters(seed => 21, labels => [ 1, -1, -1 ], n => 90, d => 5));
put("$dir/test", clusters(seed => 22, labels => [ 1, -1 ], n => 60, d => 5));

sub told
{
    my ($command) = @_;
    my $run = run([ split ' ', $command ], cwd => $dir);
    is($run->{exit}, 0, $command) or diag($run->{err});
    return $run->{out};
}

# ---- gamma below 0: Lin & Lin (2003), table 1 ----

# sum_ij beta_i beta_j K_ij with K by Perl, from the model's own text.
sub decisions
{
    my ($kernel, @rows) = @_;
    my ($head, $vectors) = get("$dir/model") =~ /\A(.*?)^SV\n(.*?)^klr_format/ms;
    my ($rho) = $head =~ /^rho (\S+)$/m;
    my @sv = map { [ split ' ' ] } split /\n/, $vectors;
    return map {
        my %x = /(\d+):(\S+)/g;
        my $f = -$rho;
        for my $sv (@sv) {
            my ($beta, %z) = ($sv->[0], map { split /:/ } @$sv[ 1 .. $#$sv ]);
            my $product = 0;
            $product += $z{$_} * ($x{$_} // 0) for keys %z;
            $f += $beta * $kernel->($product);
        }
        $f;
    } @rows;
}

my @rows = split /\n/, get("$dir/test");
my %kernel = (
    'sigmoid -g -0.7 -r -0.2' => sub {
        my $e = exp(2 * (-0.7 * $_[0] - 0.2));
        return ($e - 1) / ($e + 1);
    },
    'polynomial -d 3 -g -0.4 -r 0.3' => sub { (-0.4 * $_[0] + 0.3)**3 },
    'polynomial -d 2 -g -1' => sub { $_[0]**2 },
);
for my $kernel (sort keys %kernel) {
    for my $model ('klr', 'svm') {
        told("klr-train -q -c 1 -s $model -t $kernel data model");
        my @f = map { (split)[1] } split /\n/,
            told('klr-predict -q --decision test model');
        my @right = decisions($kernel{$kernel}, @rows);
        my ($worst) = sort { $b <=> $a } map { abs($f[$_] - $right[$_]) }
            0 .. $#right;
        cmp_ok($worst, '<', 1e-5, "$model, $kernel: decision values");
        my ($judged) = evaluate($model, "$dir/data", "$dir/model", 1);
        my $run = printed_json(run([ 'klr-train', '-q', '--json', -c => 1,
                -s => $model, -t => split(' ', $kernel), "$dir/data",
                "$dir/model" ]));
        cmp_ok(abs($run->{objective} - $judged->{primal}), '<',
            1e-6 * abs $judged->{primal},
            "$model, $kernel: the objective, as the judge finds it");
        is($run->{gamma}, $kernel =~ /-g (\S+)/ ? $1 : '', 'gamma in JSON');
        next unless peer('svm-predict');
        told(peer('svm-predict') . ' -q test model theirs');
        told('klr-predict -q -b 0 test model ours');
        is(get("$dir/ours"), get("$dir/theirs"), 'svm-predict agrees');
    }
}
my $grid = printed_json(run([ qw(klr-train -q --json -s svm -t sigmoid -v 3 -g),
        '-0.5,0.5', -c => '1,10', "$dir/data", "$dir/model" ]));
is(join(' ', map {"$_->{gamma}:$_->{c}"} @{ $grid->{values} }),
    '-0.5:1 -0.5:10 0.5:1 0.5:10', 'a grid over both signs');

for my $case (
    [ '-t laplacian -g -2', 'must be greater than 0, got -2' ],
    [ '-t linear -g -2', 'must be greater than 0, got -2' ],
    [ '-v 2 -g -1,1', 'must be greater than 0, got -1' ],
) {
    my ($options, $message) = @$case;
    my $run = run([ 'klr-train', split(' ', $options), "$dir/data" ]);
    is("$run->{exit} $run->{err}", "2 klr-train: option -g: $message\n",
        $options);
}

# ---- beta'beta ----

# Labels by chance, of examples far apart: steps that know the columns of fewer
# examples than are on the margin take more than 100,000 products.
{
    my $random = uniform(31);
    put("$dir/noise", join '', map {
        join(' ', $random->() < 0.5 ? 1 : -1,
            map { sprintf '%d:%.4f', $_, 2 * $random->() - 1 } 1 .. 10) . "\n"
    } 1 .. 700);
    my $run = run([ split ' ', 'klr-train -q --json -s svm --regularizer coef '
                . '-c 10 -g 1 --max-iter 5000 noise model' ], cwd => $dir);
    my $json = printed_json($run);
    is($json->{status}, 'converged', "beta'beta of noise: converges");
    cmp_ok($json->{gap}, '<=', 1e-6, 'to the gap asked for');
    my $margin = grep { abs(abs($_) - 1) < 1e-4 }
        map { (split)[1] } split /\n/,
        told('klr-predict -q --decision noise model');
    cmp_ok($margin, '>', 480, 'with nearly all examples on the margin');
}

# ---- No box: Consolo, (18) ----

for my $solver (qw(newton smo smo1)) {
    for my $lambda (0.5, 3) {
        my @options = (-s => 'sklr', -a => $solver, -l => $lambda, -c => 4,
            '--gap' => 1e-7, -g => 0.5);
        my $none = trained("$dir/data", "$dir/model", @options, '--box' => 0);
        my ($judged) = evaluate('sklr', "$dir/data", "$dir/model", 4, $lambda,
            0);
        like(get("$dir/model"), qr/^box 0$/m, "$solver: the model says so");
        cmp_ok($judged->{gap}, '<', 2e-7,
            "$solver, lambda $lambda: the optimum, as the judge finds it");
        my $near = trained("$dir/data", "$dir/model", @options,
            '--box' => 1e-12);
        cmp_ok(abs($near->{objective} - $none->{objective}), '<',
            1e-6 * $none->{objective}, 'which is the limit of small boxes');
    }
}
is(run([ qw(klr-train -s sklr --box -1), "$dir/data" ])->{err},
    "klr-train: option --box: must be at least 0, got -1\n", 'a box below 0');

# ---- gamma 0: svm-train's default where the largest index is 0 ----

# K = 1 everywhere, whatever the features, so that f = sum beta - rho.
my $constant = <<'END';
svm_type c_svc
kernel_type rbf
gamma 0
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
1 0:3
0.5 0:-7
-0.75 0:1e200
END
put("$dir/rows", "1 0:1\n-1\n1 0:-2 5:1e300\n1 0:1e-300 7:3\n");
for my $kernel (qw(rbf laplacian)) {
    my $text = $constant =~ s/rbf/$kernel/r;
    $text = $text =~ s/c_svc/klr/r =~ s/^rho/multiclass ovo\nrho/mr
        . "klr_format 1\nmodel svm\nsolver smo\nstatus converged\neps 0.001\n"
        . "cost 1\niterations 1\nend\n" if $kernel eq 'laplacian';
    put("$dir/constant", $text);
    is(told('klr-predict -q --decision rows constant'), "1 0.5\n" x 4,
        "$kernel: gamma 0");
}
SKIP: {
    skip 'no LIBSVM here', 4 if grep { !peer($_) } qw(svm-train svm-predict);
    put("$dir/alone", join '', map { ($_ % 3 ? 1 : -1) . " 0:$_\n" } 1 .. 12);
    told(peer('svm-train') . ' -q alone theirs');
    like(get("$dir/theirs"), qr/^gamma 0$/m, 'svm-train writes it');
    told(peer('svm-predict') . ' -q alone theirs out');
    is(told('klr-predict -q alone theirs'), get("$dir/out"),
        'klr-predict reads it');
}

done_testing;
