# SPDX-License-Identifier: BSD-3-Clause
#
# Several classes: machines of one class against the rest are those of two-class
# problems, answers follow from decision values as their definitions say.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $dir = scratch();
my ($k, $n) = (4, 120);
srand 3;
my (@row, @label);
for my $i (0 .. $n - 1) {
    my $c = $i % $k;
    my @x = map { sprintf '%.6f', rand() + ($_ == $c ? 0.6 : 0) } 0 .. 2;
    push @label, $c + 1;
    push @row, join ' ', map { ($_ + 1) . ":$x[$_]" } 0 .. 2;
}
sub rows { # labels by a function of the class
    my ($label) = @_;
    return join '', map { $label->($label[$_]) . " $row[$_]\n" } 0 .. $n - 1;
}
put("$dir/data", rows(sub { $_[0] }));

# Rows of numbers that klr-predict writes.
sub predicted {
    my (@options) = @_;
    my $got = run(['klr-predict', '-q', @options, "$dir/data", "$dir/m"]);
    is($got->{exit}, 0, "klr-predict @options") or diag $got->{err};
    my @lines = split /\n/, $got->{out};
    shift @lines if $lines[0] =~ /^labels/;
    return [ map { [ split ' ' ] } @lines ];
}
sub trained {
    my (@options) = @_;
    my $got = run(['klr-train', '-q', '-g', '1', @options]);
    is($got->{exit}, 0, "klr-train @options") or diag $got->{err};
}
sub most { # index of the first largest
    my ($best) = 0;
    for my $i (1 .. $#_) { $best = $i if $_[$i] > $_[$best] }
    return $best;
}
sub near { # largest difference of two tables
    my ($a, $b) = @_;
    my $most = 0;
    for my $i (0 .. $#$a) {
        for my $j (0 .. $#{ $a->[$i] }) {
            my $d = abs($a->[$i][$j] - $b->[$i][$j]);
            $most = $d if $d > $most;
        }
    }
    return $most;
}
sub decisions
{
    return [ map { [ @$_[1 .. $#$_] ] }
        @{ predicted('-b', '0', '--decision') } ];
}

# ---- One against the rest ----

for my $model (['klr'], ['svm', '-e', '1e-6'], ['sklr', '--link', 'sigma',
    '-e', '1e-9']) {
    my @s = ('-s', @$model);
    trained(@s, '--multiclass', 'ova', '-w2', '3', "$dir/data", "$dir/m");
    my $f = decisions();
    is(scalar @{ $f->[0] }, $k, "@s: a decision value for each class");
    my $answer = predicted();
    put("$dir/two", rows(sub { $_[0] == 2 ? 1 : -1 }));
    trained(@s, '-w1', 3, "$dir/two", "$dir/m2");
    my $got = run(['klr-predict', '-q', '-b', '0', '--decision', "$dir/data",
                   "$dir/m2"]);
    my @alone = map { [ (split ' ')[1] ] } split /\n/, $got->{out};
    cmp_ok(near([ map { [ $_->[1] ] } @$f ], \@alone), '<', 2e-3,
        "@s: class 2 against the rest, as two classes");
    my $good = grep { $answer->[$_][0] == 1 + most(@{ $f->[$_] }) } 0 .. $n - 1;
    is($good, $n, "@s: the largest decision value answers");
    next if $model->[0] eq 'svm';
    my @p = map { my @e = map { 1 / (1 + exp(-$_)) } @$_; my $sum = 0;
                  $sum += $_ for @e; [ map { $_ / $sum } @e ] } @$f;
    cmp_ok(near([ map { [ @$_[1 .. $k] ] } @$answer ], \@p), '<', 1e-6,
        "@s: probabilities of the machines, normalised");
}

# ---- Elimination ----

trained('-c', 1, '--multiclass', 'ovo', "$dir/data", "$dir/m");
my $pairs = decisions();
trained('-c', 1, '--multiclass', 'ddag', "$dir/data", "$dir/m");
is(near($pairs, decisions()), 0, 'ddag: the machines of all pairs');
my (%at, $next);
$next = 0;
for my $a (0 .. $k - 1) {
    $at{"$a $_"} = $next++ for $a + 1 .. $k - 1;
}

# The coupled probabilities of classes, which solve Q p = mu, sum p = 1, by
# Gauss-Jordan elimination.
sub coupled {
    my ($f, @class) = @_;
    my $r = sub { my ($i, $j) = @_;
        my $z = $i < $j ? $f->[ $at{"$i $j"} ] : -$f->[ $at{"$j $i"} ];
        return 1 / (1 + exp(-$z)) };
    my @a;
    for my $i (@class) {
        my $sum = 0;
        $sum += $r->($_, $i) ** 2 for grep { $_ != $i } @class;
        push @a, [ (map { $_ == $i ? $sum : -$r->($_, $i) * $r->($i, $_) }
            @class), -1, 0 ];
    }
    push @a, [ (1) x @class, 0, 1 ];
    for my $c (0 .. $#a) {
        my ($best) = sort { abs $a[$b][$c] <=> abs $a[$a][$c] } $c .. $#a;
        @a[ $c, $best ] = @a[ $best, $c ];
        for my $i (grep { $_ != $c } 0 .. $#a) {
            my $factor = $a[$i][$c] / $a[$c][$c];
            $a[$i][$_] -= $factor * $a[$c][$_] for 0 .. @a;
        }
    }
    return map { $a[$_][-1] / $a[$_][$_] } 0 .. $#class;
}

# The least probable class of those left goes, with its share of what they have.
sub eliminated {
    my ($f) = @_;
    my ($mass, @left, @p) = (1, 0 .. $k - 1);
    while (@left) {
        my @q = coupled($f, @left);
        my ($i) = sort { $q[$a] <=> $q[$b] } 0 .. $#q;
        $p[ $left[$i] ] = $mass * $q[$i];
        $mass -= $mass * $q[$i];
        splice @left, $i, 1;
    }
    return \@p;
}
my @p = map { eliminated($_) } @$pairs;
my $answer = predicted();
cmp_ok(near([ map { [ @$_[1 .. $k] ] } @$answer ], \@p), '<', 1e-9,
    'ddag: probabilities of classes that go one after the other');
is(scalar(grep { $answer->[$_][0] == 1 + most(@{ $p[$_] }) } 0 .. $n - 1), $n,
    'ddag: the most probable class answers');

# Classes in another order, and classes that are the same.
put("$dir/other", rows(sub { 1 + $_[0] * 3 % 5 })); # 1 2 3 4: 4 2 5 3
trained('-c', 1, '--multiclass', 'ddag', "$dir/other", "$dir/m");
my $other = predicted();
cmp_ok(near([ map { [ @$_[ 3, 1, 4, 2 ] ] } @$other ],
        [ map { [ @$_[1 .. $k] ] } @$answer ]), '<', 1e-4,
    'ddag: renamed classes have the same probabilities');
put("$dir/same", join '', map { my $row = $_; map {"$_ $row\n"} 1 .. $k }
    @row[0 .. 19]);
for my $c ('0.01', '1', '100') {
    trained('--multiclass', 'ddag', '-c', $c, "$dir/same", "$dir/m");
    cmp_ok(near([ map { [ @$_[1 .. $k] ] } @{ predicted() } ],
            [ ([ (1 / $k) x $k ]) x $n ]), '<', 1e-6,
        "ddag: classes that are the same at C = $c have 1/$k each");
}
trained('-s', 'svm', '--multiclass', 'ddag', "$dir/data", "$dir/m");
my $f = decisions();
$answer = predicted();
my $good = 0;
for my $i (0 .. $n - 1) {
    my ($a, $b) = (0, $k - 1);
    while ($a < $b) { $f->[$i][ $at{"$a $b"} ] > 0 ? $b-- : $a++ }
    $good++ if $answer->[$i][0] == $a + 1;
}
is($good, $n, 'ddag: without probabilities one class after the other goes');

# ---- All classes at once ----

trained('--multiclass', 'softmax', '-c', '10', "$dir/data", "$dir/m");
like(get("$dir/m"), qr/^svm_type klr\n.*^multiclass softmax\n/ms,
    'softmax: in the model');
$f = decisions();
is(scalar @{ $f->[0] }, $k, 'softmax: a decision value for each class');
@p = map { my @e = map { exp } @$_; my $sum = 0; $sum += $_ for @e;
           [ map { $_ / $sum } @e ] } @$f;
$answer = predicted();
cmp_ok(near([ map { [ @$_[1 .. $k] ] } @$answer ], \@p), '<', 1e-9,
    'softmax: probabilities by the definition');
my %bias;
for my $i (0 .. $n - 1) { # at the optimum of the thresholds
    for my $c (0 .. $k - 1) {
        $bias{$c} += ($label[$i] == $c + 1) - $p[$i][$c];
    }
}
cmp_ok(abs($_), '<', 1e-3 * $n, 'softmax: mean probabilities are shares')
    for values %bias;
my $got = run(['klr-train', '-q', '-g', '0.5:2:x2', '-c', '1,10', '-v', '3',
               '--multiclass', 'softmax', "$dir/data", "$dir/m"]);
is($got->{exit}, 0, 'softmax: a grid') or diag $got->{err};
like($got->{out}, qr/Cross Validation Accuracy = [5-9]\d/,
    'softmax: its accuracy');
put("$dir/rare", rows(sub { $_[0] }) . "9 1:0.1 2:0.9\n");
$got = run(['klr-train', '-g', '1', '-v', '3', '--multiclass', 'softmax',
            "$dir/rare"]);
is($got->{exit}, 0, 'softmax: a class of one example') or diag $got->{err};
my ($loss) = $got->{out} =~ /log loss\D+([\d.]+)/i;
cmp_ok($loss, '<', 1.5, 'softmax: what a fold has not seen has a probability');
trained('--multiclass', 'softmax', '--link', 'none', "$dir/data", "$dir/m");
$f = decisions();
$answer = predicted();
is(scalar(grep { $answer->[$_][0] == 1 + most(@{ $f->[$_] }) } 0 .. $n - 1), $n,
    'softmax: without probabilities the largest decision value answers');
put("$dir/two", rows(sub { $_[0] == 2 ? 1 : -1 }));
trained('--multiclass', 'softmax', "$dir/two", "$dir/m");
trained("$dir/two", "$dir/m2");
is(of_any_origin(get("$dir/m")), of_any_origin(get("$dir/m2")),
    'softmax: two classes are ordinary klr');

# ---- Links ----

for my $link (qw(platt fitted gaussian none)) {
    trained('-s', 'svm', '--link', $link, '--multiclass', 'ova', "$dir/data",
        "$dir/m");
    $answer = predicted();
    my $sums = grep { my $s = 0; $s += $_ for @$_[1 .. $#$_];
                      abs($s - 1) < 1e-12 } @$answer;
    is($sums, $link eq 'none' ? 0 : $n, "$link: probabilities sum to 1");
}
my %line;
for my $link (qw(sigma platt checked)) {
    my $said = trained('-c', $_, '--link', $link, "$dir/two", "$dir/m") and
        $line{"$link $_"} = join ' ', get("$dir/m") =~ /^(prob.*)/mg
        for 0.01, 10;
}
isnt($line{"sigma $_"}, $line{"platt $_"}, "C = $_: links differ") for 0.01, 10;
is($line{'checked 0.01'}, $line{'platt 0.01'}, 'checked: platt at a small C');
is($line{'checked 10'}, $line{'sigma 10'}, 'checked: sigma where it does well');
my %seen;
for my $how (qw(cv holdout training)) {
    trained('-s', 'svm', '-b', 1, '--calibrate', $how, "$dir/data", "$dir/m");
    my ($line) = grep { /^probA/ } split /\n/, get("$dir/m");
    ok(!$seen{$line}++, "calibrated by $how: $line");
}

# Which examples links are fitted to depends on the classes, not on their names.
put("$dir/two", rows(sub { $_[0] == 2 ? 2 : 1 }));
put("$dir/names", rows(sub { $_[0] == 2 ? -3 : 5 }));
for my $s ('svm --link platt', 'kfd', 'sklr -l 0.1c') {
    my @s = ('-e', '1e-8', '-s', split ' ', $s);
    for my $how (qw(ovo ova ddag)) {
        my @asked = (@s, '--multiclass', $how);
        trained(@asked, "$dir/data", "$dir/m");
        my $named = predicted();
        trained(@asked, "$dir/other", "$dir/m");
        cmp_ok(near([ map { [ @$_[ 3, 1, 4, 2 ] ] } @{ predicted() } ],
                [ map { [ @$_[1 .. $k] ] } @$named ]), '<', 1e-4,
            "@asked: renamed classes have the same probabilities");
    }
    trained(@s, "$dir/two", "$dir/m");
    my $named = predicted();
    trained(@s, "$dir/names", "$dir/m");
    is(get("$dir/m") =~ /^label 5 -3$/m ? 'other' : '', 'other',
        "@s: the positive class is the other one");
    cmp_ok(near([ map { [ @$_[ 2, 1 ] ] } @{ predicted() } ],
            [ map { [ @$_[ 1, 2 ] ] } @$named ]), '<', 1e-4,
        "@s: two renamed classes have the same probabilities");
}
my %bytes;
for my $j (1, 3) {
    trained('-s', 'svm', '-b', 1, '-j', $j, "$dir/data", "$dir/m");
    $bytes{ get("$dir/m") }++;
}
is(scalar keys %bytes, 1, 'the same bytes for any number of threads');
done_testing();
