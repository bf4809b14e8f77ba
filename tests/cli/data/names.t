# SPDX-License-Identifier: BSD-3-Clause
#
# Labels that are names (--string-labels): whatever is trained, validated or
# predicted is what it is with numbers in their place, in the same order.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Judge;
use KLR;

my $dir = scratch();

# Three classes; the names come in this order. What numbers give the same order
# of classes: ascending, of two classes the larger one is the first.
my @name = ("versi\"col\\or", "\xc3\xa4\xe2\x82\xac", '-1e0');
my @sorted = sort @name;
my %three = ($sorted[0] => 1, $sorted[1] => 2, $sorted[2] => 3);
my %two   = ($name[0] => -7, $name[1] => 7);

my @rows = map {
    sprintf ' 1:%.3f 2:%.3f', sin(5 * $_) + $_ % 3, cos(7 * $_ ** 2)
} 0 .. 59;

# The same with numbers: names at the beginnings of words become those.
sub numbered
{
    my ($text, $number) = @_;
    my $any = join '|', map {quotemeta} @name;
    return $text =~ s/(?<!\S)($any)(?!\S)/$number->{$1}/gr;
}

for my $k (2, 3) {
    put("$dir/names$k", join '', map {"$name[$_ % $k]$rows[$_]\n"} 0 .. 59);
    put("$dir/numbers$k",
        numbered(get("$dir/names$k"), $k == 2 ? \%two : \%three));
}
put("$dir/folds", join '', map { $_ % 4 . "\n" } 0 .. 59);

sub numbers { return run([@_], cwd => $dir) }
sub names { my ($program, @rest) = @_;
    return numbers($program, '--string-labels', @rest) }
sub as_before
{
    my ($run, $other, $number, $what) = @_;
    is(numbered("$run->{exit}\n$run->{err}$run->{out}", $number),
        "$other->{exit}\n$other->{err}$other->{out}", $what);
}

# ---- Training and prediction ----

for my $case ( # of so many classes, options, and what of them names classes
    [ 2, '-g 0.5' ],
    [ 2, '-s svm -t linear', "-w$name[1] 3", '-w7 3' ],
    [ 2, '-g 0.5', "--positive $name[0]", '--positive -7' ],
    [ 2, '-s kfd --prior 0.3' ],
    [ 3, '-g 0.5', "-w$name[2] 2 -w$name[0] 9 -w$name[0] 0.5",
        '-w1 2 -w2 0.5' ],
    [ 3, '-s svm -b 1 --multiclass ddag' ],
    [ 3, '-s kfd --multiclass ova --balance' ],
    [ 3, '--multiclass softmax --sv-indices -c 0.1,1' ],
    [ 3, '--scale standard -s sklr --link consistent -c 10 -l 1' ],
)
{
    my ($k, $options, @classes) = @$case;
    my ($these, $others) =
        map { join ' ', $options, $_ // () } @classes[ 0, 1 ];
    my $number = $k == 2 ? \%two : \%three;
    my $run = names('klr-train', '-q', split(/ /, $these), "names$k", 'm1');
    is("$run->{exit}$run->{err}$run->{out}", '0', "$these: trained");
    numbers('klr-train', '-q', split(/ /, $others), "numbers$k", 'm2');
    for my $c ($options =~ /-c 0.1,1/ ? ('.0.1', '.1') : '') {
        my ($model, $other) = map { get("$dir/$_$c") } 'm1', 'm2';
        $model =~ s/^names (.*)/'label ' . numbered($1, $number)/me;
        s/^svm_type.*\n|^multiclass.*\n//mg for $model, $other;
        ($model, $other) = map { of_any_origin($_) } $model, $other;
        is($model, $other, "$these: the same model$c");
        as_before(numbers('klr-predict', @$_, "names$k", "m1$c"),
            numbers('klr-predict', @$_, "numbers$k", "m2$c"), $number,
            "$these: the same predictions @$_")
            for ['-q'], [qw(-b 0 -q)], [qw(--decision -q)];
    }
}
like(get("$dir/m1"), qr/\Asvm_type klr\n(?:.*\n)*names \Q@sorted\E\n/,
    'the names are in the model');
SKIP: {
    my $peer = peer('svm-predict') // peer('libsvm-predict');
    skip 'LIBSVM is not installed', 1 unless $peer;
    isnt(run([ $peer, "$dir/names3", "$dir/m1", "$dir/o" ])->{exit}, 0,
        'svm-predict refuses it');
}

# ---- Metrics ----

# As bytes, which JSON::PP makes characters of.
sub json_labels
{
    my ($json) = @_;
    utf8::encode($_) for @{ $json->{labels} };
    return delete $json->{labels};
}

names(qw(klr-train -q -c 1 -g 0.5 names3 m1));
numbers(qw(klr-train -q -c 1 -g 0.5 numbers3 m2));
my ($judged, $others) = map {
    [ evaluate('klr', "$dir/$_->[0]", "$dir/$_->[1]", 1) ]
} [qw(names3 m1)], [qw(numbers3 m2)];
for my $pair (@$judged) { # names are numbered from 0
    $pair->{$_}++ for qw(positive negative);
}
is_deeply($judged, $others, 'from outside they are the same');
ok(@$judged == 3 && !grep({ $_->{gap} > 1e-6 } @$judged), 'and optimal');
put("$dir/others", get("$dir/names3") . "unknown 1:1\nversi 1:0 2:1\n");
put("$dir/others2", get("$dir/numbers3") . "9 1:1\n0 1:0 2:1\n");
my $json = printed_json(numbers(qw(klr-predict --json others m1 o)));
my $plain = printed_json(numbers(qw(klr-predict --json others2 m2 o2)));
is_deeply(json_labels($json), \@sorted, 'names in JSON');
is_deeply(json_labels($plain), [ 1, 2, 3 ], 'numbers');
is_deeply($json, $plain, 'metrics, with names that the model does not know');
is($json->{other_labels}, 2, 'which are two');
is(numbered(get("$dir/o"), \%three), get("$dir/o2"), 'predictions in a file');

my $matrix = numbers(qw(klr-predict --metrics others m1 o))->{out};
my $titles = "@sorted other";
utf8::decode($_) for $matrix, $titles;
my @lines = split /\n/, $matrix =~ s/.*columns\n//sr;
is(scalar @lines, 5, 'a confusion matrix with a row for other names');
is(join(' ', map {length} @lines), join(' ', (length $lines[0]) x 5),
    'its columns stand below each other');
is(join(' ', map { (split)[0] } @lines[ 1 .. 4 ]), $titles,
    'the names of its rows');

my $run = run([ 'klr-predict', '-q', '--unlabelled', '-', "$dir/m1" ],
    stdin => "1:0.5\n$name[1] 1:0.5\nwho 1:0.5\n");
my (undef, @answers) = split /\n/, $run->{out};
is("$run->{exit} @answers", "0 $answers[0] $answers[0] $answers[0]",
    'some rows without label');

# ---- Validation ----

for my $options ('-v 4', '-v 3 -c 0.1,10 -g 0.1,1', '--folds-file folds',
    '-s svm -v 4', '--loo')
{
    my @options = (qw(-q --metrics -g 0.5 --cv-out cv), split / /, $options);
    my $run = names('klr-train', @options, 'names3');
    my $held_out = numbered(get("$dir/cv"), \%three);
    my $other = numbers('klr-train', @options, 'numbers3');
    $_->{out} =~ s/^Confusion.*//ms for $run, $other;
    as_before($run, $other, \%three, "$options: the same metrics");
    is($held_out, get("$dir/cv"), "$options: the same predictions");
}
like(get("$dir/cv"), qr/\Afold true labels 1 2 3\n1 2 /, 'of every example');
$json = printed_json(names(qw(klr-train -q --json -v 3 names3)));
is_deeply(json_labels($json), \@sorted, 'names in the JSON of a validation');

# ---- What is a name ----

sub trained_names
{
    my ($labels, @features) = @_;
    put("$dir/f", join '', map {"$labels->[$_ % @$labels]$features[$_]\n"}
        0 .. $#features);
    my $run = names(qw(klr-train -q f m));
    return get("$dir/m") =~ /^names (.*)$/m ? $1 : $run->{err};
}
is(trained_names([ '+1', '1', '1.0' ], @rows), '+1 1 1.0',
    'names are compared byte for byte');
is(trained_names([ 'a#', 'b' ], @rows), 'b a',
    'a comment ends a name; of two the larger is the first');
put("$dir/f", <<'END');
x 0:1 1:1 2:0 3:0 4:0
y 0:2 1:0 2:1 3:0 4:0
x 0:3 1:0 2:0 3:1 4:0
y 0:4 1:0 2:0 3:0 4:1
END
names(qw(klr-train -q -t precomputed f m));
is(numbers(qw(klr-predict -q -b 0 f m))->{out}, "x\ny\nx\ny\n",
    'a precomputed kernel');

my $two = "a 1:1\nb 1:2\n";
my $hint = '(--string-labels reads names)';
for my $case (
    [ "a 1:1\nb\x01c 1:2\n", "f:2:1: label 'b\\x01c': not printable UTF-8" ],
    [ "a 1:1\n \xffc 1:2\n", "f:2:2: label '\\xFFc': not printable UTF-8" ],
    [ "a 1:1\n\xe2\x80\x8ba 1:2\n",
        "f:2:1: label '\\xE2\\x80\\x8Ba': not printable UTF-8" ],
    [ "a 1:1\nb\xc2\xadc 1:2\n",
        "f:2:1: label 'b\\xC2\\xADc': not printable UTF-8" ],
    [ ("\xef\xbb\xbfa 1:1\n" x 2), "f:2:1: token '\\xEF\\xBB\\xBFa': a byte "
        . 'order mark; were files joined?' ],
    [ "a 1:1\n1:2\n", "f:2:1: missing label before '1:2'" ],
    [ "a 1:1\nb,1:2\n", "f:2:1: token 'b,1:2': commas or semicolons; is this "
        . 'a CSV file?' ],
    [ "a 1:1\nb c\n", "f:2:3: feature 'c': not index:value" ],
    [ "a 1:1\na 1:2\n", 'f: all examples have the same label: two classes '
        . 'are needed' ],
    [ join('', map {"id$_ 1:0.$_\n"} 1 .. 40), 'f: 40 distinct labels in 40 '
        . 'examples look like names of examples, not like classes' ],
    [ $two, "option -w: no example has the label 'c'", '-wc', 2 ],
    [ $two, 'option -wa: must be greater than 0, got 0', '-wa', 0 ],
    [ $two, "option --positive: no example has the label 'c'",
        '--positive', 'c' ],
)
{
    my ($text, $message, @options) = @$case;
    put("$dir/f", $text);
    my $run = names('klr-train', @options, 'f', 'none');
    my $exit = @options ? 2 : 1;
    is("$run->{exit} $run->{err}", "$exit klr-train: $message\n", $message);
    ok(!-e "$dir/none", 'no model');
}
for my $case (
    [ $hint, qw(klr-train names2 none) ],
    [ $hint, qw(klr-scale names2) ],
    [ '(the labels of the model are numbers)', qw(klr-predict names2 m2 o) ],
)
{
    my ($why, @command) = @$case;
    is(numbers(@command)->{err}, "$command[0]: names2:1:1: label "
        . "'$name[0]': not a number $why\n", "@command: without the option");
}

# ---- klr-scale ----

$run = names(qw(klr-scale -s range names3));
my $other = numbers(qw(klr-scale numbers3));
as_before($run, $other, \%three, 'klr-scale passes names through');
as_before(names(qw(klr-scale -r range names3)), $other, \%three, 'with -r too');
is(names(qw(klr-scale -y 0 1 names3))->{err}, 'klr-scale: '
    . "--string-labels and -y exclude each other\n", 'not with -y');
numbers(qw(klr-scale -y 0 1 -s range numbers3));
$run = names(qw(klr-scale -r range names3));
is("$run->{exit} $run->{err}$run->{out}", '1 klr-scale: range: it scales '
    . "labels: names (--string-labels) cannot be scaled\n", 'nor by -r');

# ---- Tools ----

SKIP: {
    skip 'python3 is not installed', 6 unless peer('python3');
    my @named = ('--string-labels');
    my @other = ('+1', '1', "1\xe2\x90\xa31"); # what stands for a blank
    trained_names(\@other, @rows);
    numbers(qw(klr-predict -q f m o));
    put("$dir/rare", "1 1:1\n" . "+1 1:1\n" x 59);
    is(run([ 'tools/klr-subset', @named, "$dir/rare", 2 ])->{out},
        "1 1:1\n+1 1:1\n", 'klr-subset: one of each name');
    my @plot = ('tools/klr-plot', 'roc', @named, '--class', '1', '--data');
    like(run([ @plot, "$dir/f", "$dir/o" ])->{out},
        qr/\AReceiver.*class 1, 20 of 60 examples/, 'klr-plot: one class');
    is(run([ @plot, "$dir/names3", "$dir/o" ])->{exit}, 1,
        'klr-plot: data of other names');
    like(run([ 'tools/klr-plot', 'surface', @named, '--predict',
            bin('klr-predict'), "$dir/m", "$dir/f" ])->{out},
        qr/^a: class \+1.*^b: class 1,.*^c: class $other[2],/ms,
        'klr-plot surface');
    my @grid = ('tools/klr-grid', '--train', bin('klr-train'), '-q', '-v', 3,
        '-log2c', '0,2,2', '-log2g', '-1,1,2');
    is(run([ @grid, @named, "$dir/names3" ])->{out} =~ s/names3/numbers3/gr,
        run([ @grid, "$dir/numbers3" ])->{out}, 'klr-grid');
    put("$dir/c", get("$dir/names3") =~ s/^\S+/C/r);
    is(run([ @grid, @named, "$dir/c" ])->{exit}, 0,
        'klr-grid: a first example of class C');
}

done_testing();
