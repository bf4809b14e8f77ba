#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Keerthi, Duan, Shevade & Poo, A fast dual algorithm for kernel logistic
# regression: Tables 2 to 4 and the scaling exponents on Adult (section 6).
# Called as the head of Papers.pm says.
#
# The L-BFGS baseline of Table 2 is bench/papers/lbfgs.c, which make papers
# builds; as in the paper it runs until its objective is that of the first-order
# SMO.
#
# Protocol of the paper: sets of Raetsch's collection, trained on 400 to 1300
# examples; RBF kernel exp(-|x-z|^2 / (2 sigma^2)); stop (3.11) at tau = 1e-6.
# Table 2 has a given sigma and C = 1e-4 .. 1e4. For Tables 3 and 4, C and sigma
# by five-fold cross validation on a 10 x 10 grid in (log C, log sigma), then on
# a 20 x 20 uniform grid in (C, sigma) around its best.
#
# Where the paper leaves it open:
# - the divisions of that collection are not at hand: ours are stratified, at
#   random, of the same sizes; features standardised on the whole set, as there.
# - image: the collection's labels are undocumented; ours are a reconstruction
#   with 786 examples instead of 1010 to test on. "tree" is not to be had.
# - what cross validation minimises: log loss for KLR, errors for SVM.
# - the coarse grid: log10 C in [-2, 4], log2 sigma in [-2, 4]; the fine one
#   reaches from one neighbour of the best to the other.
# - NLL is a sum over the test set; both are given for each test example.
# - the NLL of Table 3 is not legible in the text at hand, nor what its errors
#   are of; they are taken as the rate, 490 as .0490.
# - Adult between 1605 and 22696: a6a (11220), a8a (22696) and the first rows of
#   a6a in the place of a3a (3185) and a5a (6414).
#
# Tables 3 and 4 are means of ten divisions or draws; the paper has one.
#
# Reduced to be affordable: fits of L-BFGS end after 20 s.
use strict;
use warnings;
use FindBin ();
use lib $FindBin::Bin;
use JSON::PP ();
use Papers;
use KLR ();

begin();

# name => source, examples to train on, to test on
my %set = (
    Banana => [ 'banana', 400, 4900 ],
    Splice => [ 'splice+splice.t', 1000, 2175 ],
    Waveform => [ 'waveform_bin', 400, 4600 ],
    Image => [ 'image', 1300, 1010 ],
);
my @names = quick() ? qw(Banana) : qw(Banana Splice Waveform Image);
my @shown = (@names, 'Tree'); # of which there are no data
my $repeats = quick() ? 1 : 10;
my @limit = quick() ? qw(--time-limit 2) : (); # of a fit of Table 2,
my $baseline_limit = quick() ? 2 : 20; # of L-BFGS

# ---- The paper's figures ----

# Table 2: log10 C, then seconds of SMO and of BFGS for each set; '-' is over
# 50,000 s.
my %sigma2 = (Banana => 0.4297, Splice => 43.8856, Waveform => 15.2735,
    Image => 1.3776);
my %table2;
for (split /\n/, <<'END') {
-4 0.6 23.0  18.0 1.1e3  2.4 69.6   3.9 200.1  40.6 916.4
-3 0.6 15.2  16.7 588.2  2.1 42.4   3.4 153.4  41.2 520.2
-2 0.5 13.4  14.0 760.1  2.1 57.2   2.5 217.8  31.1 671.0
-1 0.3 55.4  10.2 2.3e3  1.5 156.1  2.6 1.1e3  25.5 3.2e3
0  0.5 255.2 13.2 6.1e3  2.9 478.8  4.0 5.5e3  41.0 9.2e3
1  1.2 963.1 22.1 2.88e4 5.5 1.9e3  7.2 4.3e4  63.2 4.6e4
2  4.0 3.1e3 32.0 -      13.0 3.5e3 20.7 -     99.0 -
3  41.6 -    40.0 -      20.5 5.8e3 1.1e2 -    178.6 -
4  8.4e2 -   54.2 -      24.9 -     7.1e2 -    6.2e2 -
END
    my ($c, @seconds) = split;
    $table2{$_}{$c} = [ splice @seconds, 0, 2 ]
        for qw(Banana Splice Waveform Tree Image);
}

# Table 4: NLL of KLR and SVM, error of KLR and SVM.
my %table4 = (
    Banana => [ 1328.44, 1378.39, .1245, .1247 ],
    Image => [ 85.12, 83.26, .0178, .0198 ],
    Splice => [ 615.22, 542.61, .0952, .0989 ],
    Waveform => [ 1162.93, 1137.70, .1041, .1063 ],
    Tree => [ 3547.15, 3116.32, .1129, .1123 ],
);
my %tests = (Tree => 11692, map { ($_ => $set{$_}[2]) } keys %set);
my %table3 = (Bayes => .0490, klr => .0502, svm => .0507);

# ---- Divisions ----

# Rows and the positions to train on and to test on.
sub division
{
    my ($name, $seed) = @_;
    my ($source, $train, $test) = @{ $set{$name} };
    my $rows = set_rows($source, '--standardize');
    my ($rest, $chosen) = sample(labels($rows), $train, $seed);
    return ($rows, $chosen, $rest) if @$rest <= $test;
    return ($rows, $chosen, [ @$rest[ 0 .. $test - 1 ] ]);
}

# ---- Table 2 ----

my %algorithm = (smo1 => [qw(-a smo1 -e 1e-6)], smo => [qw(-a smo -e 1e-6)],
    newton => [qw(-a newton)]);
my @algorithms = qw(smo1 smo newton);
my @decades = quick() ? (-2, 0, 2) : (-4 .. 4);

sub costs_of
{
    my ($name, $algorithm) = @_;
    my ($rows, $train) = division($name, 1);
    my $dir = scratch();
    put_rows("$dir/train", $rows, $train);
    return { map { my $c = $_; ($c => train(qw(-s klr), @limit,
        @{ $algorithm{$algorithm} }, '-g', 1 / (2 * $sigma2{$name}), '-c',
        "1e$c", "$dir/train", "$dir/model")->[0]) } @decades };
}

my $costs = results(map { my $name = $_; map { my $algorithm = $_;
    [ "keerthi/cost/$name/$algorithm", sub { costs_of($name, $algorithm) } ] }
    @algorithms } @names);

# L-BFGS, to the objective that the first-order SMO reached with each C.
sub baseline
{
    my ($name, $goals) = @_;
    my ($rows, $train) = division($name, 1);
    my $tool = ($ENV{KLR_BUILD} // 'build') . '/lbfgs';
    die { absent => "$tool: not there\n" } unless -x $tool;
    my $file = put_rows(scratch() . '/train', $rows, $train);
    my %cost;
    for my $c (@decades) {
        my $run = KLR::run([ $tool, $file, 1 / (2 * $sigma2{$name}), "1e$c",
            $goals->{$c}{objective}, $baseline_limit ]);
        my $said = JSON::PP::decode_json($run->{out});
        $cost{$c} = { iterations => $said->{iterations},
            seconds => { train => $said->{seconds} },
            status => $said->{reached} ? 'converged' : 'time_limit' };
    }
    return \%cost;
}

my $baseline = results(map { my $name = $_;
    my $goals = $costs->{"keerthi/cost/$name/smo1"};
    $goals->{absent} ? () : [ "keerthi/cost/$name/lbfgs", sub { baseline($name,
        $goals) } ] } @names);
$costs = { %$costs, (map { ("keerthi/cost/$_/lbfgs" => { absent => 'not run' })
    } @names), %$baseline };

sub cost_cells
{
    my ($name, $algorithm, $c) = @_;
    my $result = $costs->{"keerthi/cost/$name/$algorithm"}
        // { absent => 'no data' };
    my $said = $result->{$c} or return ($result->{absent}) x 2;
    my $mark = $said->{status} eq 'time_limit' ? '> ' : '';
    return ($mark . number('%.3f', $said->{seconds}{train}),
        number('%d', $said->{iterations}));
}

my $text = "### Table 2: seconds of training\n\nThe paper's are of a 500 MHz"
    . " UltraSPARC, - where they are over 50,000. Iterations of newton are"
    . " products with the kernel matrix; > marks what ended early, by time, or"
    . " lbfgs where no step lowered the objective any more.\n\n";
$text .= table([ 'set', 'log10 C', 'paper, SMO', 'paper, BFGS',
    map {("$_, s", "$_, iterations")} @algorithms, 'lbfgs' ],
    map { my $name = $_; map { my $c = $_;
        [ $name, $c, @{ $table2{$name}{$c} },
            map { cost_cells($name, $_, $c) } @algorithms, 'lbfgs' ] }
    @decades }
    @shown);

# ---- Tables 3 and 4 ----

my %model = (klr => [qw(-s klr -a newton)], svm => [qw(-s svm)]);

sub spaced
{
    my ($first, $last, $count) = @_;
    my $step = ($last - $first) / ($count - 1);
    return map { $first + $step * $_ } 0 .. $count - 1;
}

# Five folds at every value: the one of least log loss, or for svm of most
# accuracy; of equals the first.
sub search
{
    my ($model, $file, $costs, $sigmas) = @_;
    my $what = $model eq 'klr' ? sub { -$_[0]{log_loss} }
        : sub { $_[0]{accuracy} };
    my $best;
    for my $sigma (@$sigmas) {
        for my $point (validate(@{ $model{$model} }, qw(-v 5 -g),
            1 / (2 * $sigma**2), '-c', join(',', map { sprintf '%.6g', $_ }
            @$costs), $file, "$file.model")) {
            my $value = $what->($point);
            $best = [ $value, $point->{c}, $sigma ]
                if !$best || $value > $best->[0];
        }
    }
    return @$best[ 1, 2 ];
}

sub neighbours
{
    my ($value, @grid) = @_;
    my @far = map { abs(log($_ / $value)) } @grid;
    my ($at) = sort { $far[$a] <=> $far[$b] } 0 .. $#grid;
    return ($grid[ $at > 0 ? $at - 1 : 0 ],
        $grid[ $at < $#grid ? $at + 1 : $#grid ]);
}

sub tuned
{
    my ($model, $file) = @_;
    my ($coarse, $fine) = quick() ? (4, 3) : (10, 20);
    my @costs = map { 10**$_ } spaced(-2, 4, $coarse);
    my @sigmas = map { 2**$_ } spaced(-2, 4, $coarse);
    my ($c, $sigma) = search($model, $file, \@costs, \@sigmas);
    return search($model, $file, [ spaced(neighbours($c, @costs), $fine) ],
        [ spaced(neighbours($sigma, @sigmas), $fine) ]);
}

# An svm's probabilities are asked for; where there are none, its errors remain.
sub judged
{
    my ($model, $dir) = @_;
    my ($c, $sigma) = tuned($model, "$dir/train");
    my @fit = (@{ $model{$model} }, '-c', $c, '-g', 1 / (2 * $sigma**2),
        "$dir/train", "$dir/model");
    eval { train($model eq 'svm' ? qw(-b 1) : (), @fit); 1 }
        or ref $@ ? train(@fit) : die $@;
    my $said = predict("$dir/test", "$dir/model");
    return { c => $c, sigma => $sigma, error => 1 - $said->{accuracy},
        nll => $said->{log_loss} };
}

sub generalisation
{
    my ($name, $seed, $model) = @_;
    my ($rows, $train, $test) = division($name, $seed);
    my $dir = scratch();
    put_rows("$dir/train", $rows, $train);
    put_rows("$dir/test", $rows, $test);
    return judged($model, $dir);
}

# An example of the two Gaussians: means (-2,0), (2,0), variances (1,2), (2,1);
# with the log odds of the first.
sub gaussian
{
    my ($next) = @_;
    my $first = $next->() < 0.5;
    my ($u, $v) = (normal($next), normal($next));
    my ($x, $y) = $first ? ($u - 2, sqrt(2) * $v) : (sqrt(2) * $u + 2, $v);
    my $odds = -($x + 2)**2 / 2 - $y**2 / 4 + ($x - 2)**2 / 4 + $y**2 / 2;
    return ($first ? 1 : -1, $x, $y, $odds);
}

sub artificial
{
    my ($seed, $model) = @_;
    my $next = uniform($seed);
    my $dir = scratch();
    my ($errors, $nll, $count) = (0, 0, 20000);
    for my $part ([ train => 400 ], [ test => $count ]) {
        my @rows;
        for (1 .. $part->[1]) {
            my ($label, $x, $y, $odds) = gaussian($next);
            push @rows, sprintf '%+d 1:%.6f 2:%.6f', $label, $x, $y;
            next if $part->[0] eq 'train';
            $errors += $label * $odds < 0;
            $nll += log(1 + exp(-$label * $odds));
        }
        put_rows("$dir/$part->[0]", \@rows);
    }
    return judged($model, $dir) if $model ne 'Bayes';
    return { error => $errors / $count, nll => $nll / $count };
}

# Means over the divisions: NLL for each test example, and errors.
sub means
{
    my ($results, @jobs) = @_;
    my @result = map { $_ // { absent => 'no data' } } @$results{@jobs};
    my ($absent) = grep { $_->{absent} } @result;
    return ($absent->{absent}) x 2 if $absent;
    return map { my $what = $_; my @value = map { $_->{$what} } @result;
        (grep { !defined } @value) ? 'not built' : number('%.4f', mean(@value))
    } qw(nll error);
}

my @seeds = (1 .. $repeats);
my $draws = results(map { my $model = $_; map { my $seed = $_;
    [ "keerthi/gaussians/$model-$seed", sub { artificial($seed, $model) } ] }
    @seeds } qw(Bayes klr svm));
$text .= "\n### Table 3: two Gaussians\n\n" . table([ 'classifier',
    'paper, error', 'ours, error', 'ours, NLL for each example',
    'and for all 20,000' ], map { my $model = $_;
        my ($nll, $error) = means($draws,
            map {"keerthi/gaussians/$model-$_"} @seeds);
        [ $model, number('%.4f', $table3{$model}), $error, $nll,
            $nll =~ /^\d/ ? number('%.0f', 20000 * $nll) : $nll ] }
        qw(Bayes klr svm));

my $tests = results(map { my $name = $_; map { my $model = $_; map {
    my $seed = $_;
    [ "keerthi/test/$name/$model-$seed", sub { generalisation($name, $seed,
        $model) } ] } @seeds } qw(klr svm) } @names);
$text .= "\n### Table 4: errors and NLL on the test set\n\nNLL is for each test"
    . " example.\n\n" . table([ 'set', map { my $m = $_;
    map {("$m, $_, paper", 'ours')} 'NLL', 'error' } 'KLR', 'SVM' ], map {
    my $name = $_;
    my ($nll, $svm_nll, @error) = @{ $table4{$name} };
    my @klr = means($tests, map {"keerthi/test/$name/klr-$_"} @seeds);
    my @svm = means($tests, map {"keerthi/test/$name/svm-$_"} @seeds);
    [ $name, number('%.4f', $nll / $tests{$name}), $klr[0],
        number('%.4f', $error[0]), $klr[1],
        number('%.4f', $svm_nll / $tests{$name}), $svm[0],
        number('%.4f', $error[1]), $svm[1] ] } @shown);

# ---- Adult ----

# rows => source
my @adult = ([ 1605, 'a1a' ], [ 3185, 'a6a' ], [ 6414, 'a6a' ],
    [ 11220, 'a6a' ], [ 22696, 'a8a' ], [ 32561, 'a9a' ]);
@adult = @adult[ 0, 1 ] if quick();
my %kernel = (linear => [qw(-t linear -c 0.05)],
    Gaussian => [qw(-t rbf -g 0.05 -c 1)]);

sub adult
{
    my ($n, $source, $algorithm, $kernel) = @_;
    my $rows = set_rows($source);
    my $dir = scratch();
    put_rows("$dir/train", $rows, [ 0 .. $n - 1 ]);
    return train(qw(-s klr), @{ $algorithm{$algorithm} }, @{ $kernel{$kernel} },
        "$dir/train", "$dir/model")->[0];
}

my $scaling = results(map { my ($n, $source) = @$_; map { my $a = $_; map {
    my $kernel = $_;
    [ "keerthi/adult/$kernel/$a-$n", sub { adult($n, $source, $a, $kernel) } ] }
    sort keys %kernel } @algorithms } @adult);

# Seconds and iterations of each size, and the exponents over those that ended.
sub adult_rows
{
    my ($kernel, $algorithm) = @_;
    my (@seconds, @iterations, @cells);
    for my $n (map { $_->[0] } @adult) {
        my $said = $scaling->{"keerthi/adult/$kernel/$algorithm-$n"};
        push @cells, $said->{absent} // ($said->{status} eq 'converged' ? '' :
            '> ') . number('%.3g', $said->{seconds}{train});
        next if ($said->{status} // '') ne 'converged';
        push @seconds, [ log $n, log $said->{seconds}{train} ];
        push @iterations, [ log $n, log $said->{iterations} ];
    }
    return [ $kernel, $algorithm, @cells, map { number('%.2f', slope(@$_)) }
        \@seconds, \@iterations ];
}

$text .= "\n### Adult: seconds against the number of examples\n\nThe paper's"
    . " SMO has the exponent 2.2 with both kernels.\n\n" . table([ 'kernel',
    'algorithm', (map { $_->[0] } @adult), 'exponent of seconds',
    'of iterations' ], map { my $kernel = $_; map { adult_rows($kernel, $_) }
    @algorithms } sort keys %kernel);

publish('Keerthi, Duan, Shevade & Poo: SMO for KLR', $text);
