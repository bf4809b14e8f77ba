# SPDX-License-Identifier: BSD-3-Clause
#
# Models and tools go both ways between this toolkit and LIBSVM.
#
# svm-predict prints no decision values of models with several classes. They are
# compared in two steps: klr-predict's with the evaluator's reading of the same
# file in long double, and, pair by pair, with the probability that svm-predict
# computes from the model of that pair alone, sigma(f) for probA -1, probB 0.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

for my $peer (qw(svm-train svm-predict)) {
    plan skip_all => "$peer is not installed" unless peer($peer);
}

my $dir = scratch();
put("$dir/two", clusters(seed => 8, labels => [ 1, -1, -1 ], n => 160, d => 5));
put("$dir/four",
    clusters(seed => 9, labels => [ 4, 1, 9, 1, -2 ], n => 180, d => 5));
put("$dir/other", clusters(seed => 10, labels => [ 1, -1, 4 ], n => 400, d => 7,
        zeros => 0.2));

# [label, numbers...] per row of a prediction file, without its header.
sub rows
{
    my ($path) = @_;
    return map { [ split ' ' ] } grep { !/^labels / } split /\n/, get($path);
}

sub must
{
    my ($run, $what) = @_;
    ok($run->{exit} == 0, $what)
        or diag("exit $run->{exit}: $run->{err}$run->{out}");
    return $run;
}

# Predictions of both programs for $dir/other, [[label, ...]...] each.
sub predictions
{
    my ($model, $probabilities, $data) = @_;
    $data //= "$dir/other";
    my @b = (-b => $probabilities);
    must(run([ 'klr-predict', @b, $data, $model, "$dir/ours" ]),
        "klr-predict @b loads it");
    must(run([ peer('svm-predict'), @b, $data, $model, "$dir/theirs" ]),
        "svm-predict @b loads it");
    if ($probabilities) {
        my ($ours, $theirs) = map { (split /\n/, get($_))[0] } "$dir/ours",
            "$dir/theirs";
        is($ours, $theirs, 'same header');
    }
    return ([ rows("$dir/ours") ], [ rows("$dir/theirs") ]);
}

# The largest difference of probabilities, and the number of rows whose labels
# differ although the two largest probabilities are further apart than `tie`.
sub apart
{
    my ($ours, $theirs, $tie) = @_;
    return ('other length', 0) if @$ours != @$theirs;
    my ($largest, $labels) = (0, 0);
    for my $i (0 .. $#$ours) {
        my ($label, @p) = @{ $ours->[$i] };
        my ($other, @q) = @{ $theirs->[$i] };
        return ('other width', 0) if @p != @q;
        for my $c (0 .. $#p) {
            my $d = abs($p[$c] - $q[$c]);
            $largest = $d if $d > $largest;
        }
        my @sorted = sort { $b <=> $a } @q;
        my $close = @q && $sorted[0] - $sorted[1] < $tie;
        $labels++ if $label != $other && !$close;
    }
    return ($largest, $labels);
}

sub same
{
    my ($what, $model, $probabilities, $bound, $tie, $data) = @_;
    my ($ours, $theirs) = predictions($model, $probabilities, $data);
    my ($largest, $labels) = apart($ours, $theirs, $tie);
    ok($largest <= $bound, "$what: probabilities differ by $largest")
        if $probabilities;
    is($labels, 0, "$what: equal labels");
    return $ours;
}

# The models of all pairs that a model holds: { text, i } in order.
sub pair_models
{
    my ($path) = @_;
    my ($head, $body) = get($path) =~ /\A(.*?)^SV\n(.*)\z/ms or die 'no model';
    my %head = map { /^(\S+) (.*)$/ } split /\n/, $head;
    my @label = split ' ', $head{label};
    my @count = split ' ', $head{nr_sv};
    my @rho = split ' ', $head{rho};
    my @kernel = map {"$_ $head{$_}\n"}
        grep { defined $head{$_} } qw(svm_type kernel_type degree gamma coef0);
    my @lines = (split /\n/, $body)[ 0 .. $head{total_sv} - 1 ];
    my @class = map { [ splice @lines, 0, $_ ] } @count;
    my @models;
    for my $a (0 .. $#label) {
        for my $b ($a + 1 .. $#label) {
            my $sv = '';
            for my $side ([ $a, $b - 1 ], [ $b, $a ]) {
                for my $line (@{ $class[ $side->[0] ] }) {
                    my @field = split ' ', $line;
                    $sv .= join ' ', $field[ $side->[1] ],
                        @field[ $#label .. $#field ];
                    $sv .= "\n";
                }
            }
            push @models, join '', @kernel, "nr_class 2\ntotal_sv ",
                $count[$a] + $count[$b], "\nrho ", shift @rho,
                "\nlabel $label[$a] $label[$b]\nprobA -1\nprobB 0\n",
                "nr_sv $count[$a] $count[$b]\nSV\n$sv";
        }
    }
    return @models;
}

# Decision values of klr-predict against both references.
sub decisions
{
    my ($what, $model) = @_;
    my $data = "$dir/other";
    my $run = must(run([ 'klr-predict', '--decision', $data, $model,
                "$dir/ours" ]), "$what: klr-predict --decision");
    my @ours = map { [ @$_[ 1 .. $#$_ ] ] } rows("$dir/ours");
    my $judge = must(run([ tool('evaluate'), 'decisions', $data, $model ]),
        "$what: the evaluator reads it");
    my @judge = map { [ split ' ' ] } split /\n/, $judge->{out};
    my ($largest, $pairs) = (0, scalar @{ $judge[0] });
    for my $i (0 .. $#judge) {
        for my $p (0 .. $pairs - 1) {
            my $d = abs($ours[$i][$p] - $judge[$i][$p]);
            $largest = $d if !($d <= $largest);
        }
    }
    ok(@ours == @judge && @{ $ours[0] } == $pairs && $largest <= 1e-6,
        "$what: decision values differ by $largest from long double");
    my @pair = pair_models($model);
    is(scalar @pair, $pairs, "$what: $pairs pairs");
    $largest = 0;
    for my $p (0 .. $#pair) {
        put("$dir/pair", $pair[$p]);
        run([ peer('svm-predict'), '-b', 1, $data, "$dir/pair",
                "$dir/theirs" ]);
        my @theirs = rows("$dir/theirs");
        for my $i (0 .. $#judge) {
            my $sigma = 1 / (1 + exp -$ours[$i][$p]);
            my $d = abs($sigma - $theirs[$i][1]);
            $largest = $d if !($d <= $largest);
        }
    }
    ok($largest <= 1e-6, "$what: svm-predict on each pair differs by $largest");
    return;
}

# ---- Our models in svm-predict ----

my @kernels = ([ -t => 0 ], [ -t => 1, -g => 0.5, -r => 1, -d => 2 ],
    [ -t => 2, -g => 0.5 ], [ -t => 3, -g => 0.1, -r => 0 ]);
for my $kernel (@kernels) {
    my $t = $kernel->[1];
    for my $model (qw(klr svm)) {
        for my $set (qw(two four)) {
            my $name = "$model, $set classes, -t $t";
            trained("$dir/$set", "$dir/model", -s => $model, @$kernel, -c => 2)
                // next;
            decisions($name, "$dir/model");
            if ($model eq 'svm') {
                same($name, "$dir/model", 0, 0, 0);
            } elsif ($set eq 'two') {
                same($name, "$dir/model", 1, 1e-6, 0);
            } else {
                same($name, "$dir/model", 1, 5e-3, 1e-2);
            }
        }
    }
}

# The most probable class is the answer, whatever -b says.
{
    trained("$dir/two", "$dir/model", -s => 'klr', -g => 0.5);
    run([ 'klr-predict', '-b', $_, "$dir/other", "$dir/model", "$dir/b$_" ])
        for 0, 1;
    is_deeply([ map { $_->[0] } rows("$dir/b1") ],
        [ map { $_->[0] } rows("$dir/b0") ], 'labels with -b 0 and -b 1');
}

# A sparse model: LIBSVM reads the slope of its link from probA and never sees
# its own section.
{
    trained("$dir/two", "$dir/model", -s => 'klr', -g => 0.5);
    my $text = get("$dir/model");
    $text =~ s/^probA -1$/probA -0.75/m or die 'no probA';
    $text =~ s/^model klr$/model sklr\nlambda 2\nbox 1e-05\nbias 0/m or die;
    put("$dir/model", $text);
    same('sklr', "$dir/model", 1, 1e-6, 0);
}

# A precomputed kernel: rows are 0:serial and the matrix.
{
    my ($train, $test) = ('', '');
    for my $i (1 .. 60) {
        my $x = $i % 2 ? $i / 60 : -$i / 60 + 0.3;
        my $row = join ' ', "0:$i",
            map { sprintf '%d:%.9g', $_,
                exp -($x - ($_ % 2 ? $_ / 60 : -$_ / 60 + 0.3))**2 } 1 .. 60;
        $train .= ($i % 3 ? $i % 2 : 1) . " $row\n";
    }
    put("$dir/gram", $train);
    trained("$dir/gram", "$dir/model", -s => 'klr', -t => 4, -c => 4);
    same('precomputed', "$dir/model", 1, 1e-6, 0, "$dir/gram");
}

# ---- svm-train's models in klr-predict ----

for my $kernel (@kernels) {
    my $t = $kernel->[1];
    for my $set (qw(two four)) {
        my $run = run([ peer('svm-train'), '-q', @$kernel, -c => 2,
                "$dir/$set", "$dir/model" ]);
        is($run->{exit}, 0, "svm-train -t $t");
        same("svm-train's model, $set classes, -t $t", "$dir/model", 0, 0, 0);
        decisions("svm-train's model, $set classes, -t $t", "$dir/model");
    }
}
for my $set (qw(two four)) {
    run([ peer('svm-train'), qw(-q -s 1 -n 0.3 -g 0.5), "$dir/$set",
            "$dir/model" ]);
    like(get("$dir/model"), qr/^svm_type nu_svc$/m, "-s 1, $set classes");
    same("svm-train -s 1, $set classes", "$dir/model", 0, 0, 0);
}
for my $case ([ 'two', 1e-6, 0 ], [ 'four', 5e-3, 1e-2 ]) {
    my ($set, $bound, $tie) = @$case;
    run([ peer('svm-train'), '-q', '-b', 1, '-g', 0.5, "$dir/$set",
            "$dir/model" ]);
    same("svm-train -b 1, $set classes", "$dir/model", 1, $bound, $tie);
}

# ---- Real sets ----

SKIP: {
    skip 'KLR_DATA is not set', 1 unless data('heart.svm');
    my $heart = scaled($dir, 'heart');
    my $wine = scaled($dir, 'wine');
    for my $case ([ $heart, 'klr', 1e-6, 0 ], [ $wine, 'klr', 5e-3, 1e-2 ]) {
        my ($data, $model, $bound, $tie) = @$case;
        trained($data, "$dir/model", -s => $model, -g => 0.125,
            -c => 1);
        same($data =~ s{.*/}{}r, "$dir/model", 1, $bound, $tie, $data);
    }
    for my $data ($heart, $wine) {
        run([ peer('svm-train'), '-q', $data, "$dir/model" ]);
        same($data =~ s{.*/}{}r . ' by svm-train', "$dir/model", 0, 0, 0,
            $data);
    }
}

# ---- LIBSVM's grid search ----

SKIP: {
    my ($grid, $python) = (peer('svm-grid'), peer('python3'));
    skip 'svm-grid is not installed', 1 unless $grid;
    skip 'python3 is not installed', 1 unless $python;
    my $train = bin('klr-train');
    $train = POSIX::getcwd() . "/$train" unless $train =~ m{^/};
    my $run = start([ $python, $grid, -log2c => '-1,1,1', -log2g => '0,-2,-2',
            -v => 3, -svmtrain => $train, -gnuplot => 'null',
            -out => "$dir/grid", -s => 'klr', "$dir/two" ]);
    is(finish($run)->{exit}, 0, 'svm-grid ends by itself');
    my @rates = get("$dir/grid") =~ /^log2c=\S+ log2g=\S+ rate=([\d.]+)$/mg;
    is(scalar @rates, 6, 'it gets a rate for each point');
    is(scalar(grep { $_ > 50 && $_ <= 100 } @rates), 6, 'sensible rates');
    my ($best) = get($run->{out_file}) =~ /^(\S+ \S+ \S+)$/m;
    ok($best, 'it names the best point');
}

done_testing();
