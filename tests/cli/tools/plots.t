# SPDX-License-Identifier: BSD-3-Clause
#
# klr-grid and klr-plot. What they compute is compared with definitions worked
# out here and with klr-train; pictures have to be made and to name what is in
# them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use JSON::PP ();
use List::Util qw(max min sum);
use POSIX qw(mkfifo);
use KLR;
use Judge;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();
my $gnuplot = peer('gnuplot');
mkdir "$dir/empty";
mkdir "$dir/stand-in";
put("$dir/stand-in/gnuplot", "#!/bin/sh\nexec cat\n");
chmod 0755, "$dir/stand-in/gnuplot";
# Without the site's packages (-S), which take longer to load than the tools.
chomp(my $python =
    run([ 'python3', '-c', 'import sys; print(sys.executable)' ])->{out});
my @python = ($python, '-S');

sub grid { return run([ @python, 'tools/klr-grid', @_ ]) }
sub plot { return run([ @python, 'tools/klr-plot', @_ ]) }
sub validate { return run([ qw(klr-train -q -v 3), @_, '/dev/null' ])->{out} }
sub last_line { return (split /\n/, $_[0]{out})[-1] }

# The script of a picture, given to what stands in for gnuplot.
sub script
{
    my ($tool, @arguments) = @_;
    my $run = run([ @python, "tools/$tool", @arguments, '-o',
            "$dir/scripted.svg" ], env => { PATH => "$dir/stand-in:$ENV{PATH}" });
    my $said = $run->{err} =~ s/^klr-grid: the best point is at the edge .*\n//r;
    is("$run->{exit}$said", '0', "a picture by $tool @arguments");
    return get("$dir/scripted.svg");
}

# The rows of data under a name in a script.
sub rows_of
{
    my ($script, $name) = @_;
    my ($rows) = $script =~ /^\$$name << END\n(.*?)\nEND$/ms;
    return [ map { [ split ' ' ] } split /\n/, $rows // '' ];
}

# Run without gnuplot.
sub bare { return run([ @python, @_ ], env => { PATH => "$dir/empty" }) }

sub is_picture
{
    my ($path, @texts) = @_;
    my $picture = -e $path ? get($path) : '';
    my $start = $path =~ /svg$/ ? qr/\A<\?xml.*<svg /s
        : $path =~ /pdf$/ ? qr/\A%PDF-.*%%EOF\n\z/s
        : qr/\A\x89PNG\r\n.*IEND....\z/s;
    like($picture, $start, "$path is a picture");
    ok(index($picture, $_) >= 0, "of $_") for @texts;
    return;
}

# ---- klr-grid: a grid that is given ----

# Of log losses 0.125 1.5 / 0.25 12.5 and, in the row between, one missing.
my $table = <<'END';
gamma     C   accuracy    log loss       Brier         AUC
  0.5     1   50.0000%    0.250000    0.200000           -
  0.5    16   75.0000%   12.500000    0.300000    0.500000
    1     1   25.0000%           -    0.400000    0.600000
    1    16   25.0000%    0.500000    0.400000    0.600000
    2     1   62.5000%    0.125000    0.500000    0.700000  *
    2    16   62.5000%    1.500000    0.050000    0.700000
Best gamma = 2, C = 1
Cross Validation Accuracy = 62.5%
END
put("$dir/table", $table);
my $run = grid("$dir/table");
is("$run->{err}$run->{exit}\n$run->{out}", <<'END', 'a table');
klr-grid: the best point is at the edge of the grid: gamma = 2 is the largest
0
table: log loss by cross validation

columns: log2 C, rows: log2 gamma
       0     4
 1*.125@ 1.50
 0    ?? .500%
-1 .250@ 12.5

*: the best; shades: ' ', 1.5 or worse, to '@', 0.125

Best C = 1, gamma = 2
accuracy = 62.5%; log loss = 0.125; Brier score = 0.5; AUC = 0.7
1 2 62.5
END
is(run([ @python, 'tools/klr-grid', '-' ], stdin => $table)->{out},
    $run->{out} =~ s/^table:/stdin:/r, 'the same by stdin');
is(run([ 'sh', '-c', "cat $dir/table | @python tools/klr-grid /dev/stdin" ])
    ->{out}, $run->{out} =~ s/^table:/stdin:/r, 'and by the name of a pipe');
is(last_line(grid('--metric', $_->[0], "$dir/table")), $_->[1], "by $_->[0]")
    for [ 'accuracy', '16 0.5 75' ], [ 'brier', '16 2 62.5' ],
    [ 'auc', '1 2 62.5' ];
is(join(' ', grid('--metric', 'auc', "$dir/table")->{out} =~ /\*[.\d]+/g),
    '*.700', 'a star for the first of equals alone');

# Values that differ by rounding alone are one level, which is still a range.
put("$dir/level", <<'END');
gamma     C   accuracy         log loss       MCC
  0.5     1   50.0000%   0.693147180551         0
  0.5    16   50.0000%   0.693147180552    -1e-17
    2     1   50.0000%   0.693147180553         0
    2    16   50.0000%   0.693147180550     1e-17  *
Best gamma = 2, C = 16
END
for my $metric ('logloss', 'mcc') {
    my ($least, $most)
        = script('klr-grid', '--metric', $metric, "$dir/level")
        =~ /^set cbrange \[(.*):(.*)\]$/m;
    cmp_ok($most - $least, '>', 0.5, "a picture of one level, by $metric");
}

my @whole = ('-c', '0.1:10:x10', '-g', '2^-7:2^-3:x4', 'heart_scale');
put("$dir/json", validate('--json', @whole));
put("$dir/printed", validate('--metrics', @whole));
my $text = grid("$dir/json")->{out};
is(grid("$dir/printed")->{out} =~ s/^printed:|^accuracy.*\n//mgr,
    $text =~ s/^json:|^accuracy.*\n//mgr, 'a table is as good as JSON');

my $values = JSON::PP::decode_json(get("$dir/json"))->{values};
my %key = (logloss => 'log_loss', balanced => 'balanced_accuracy');
for my $metric (qw(accuracy balanced logloss brier auc f1 mcc ece)) {
    my $sign = $metric =~ /logloss|brier|ece/ ? 1 : -1;
    my $key = $key{$metric} // $metric;
    my $best = $values->[0];
    for my $value (@$values) {
        $best = $value if $sign * $value->{$key} < $sign * $best->{$key};
    }
    is(last_line(grid('--metric', $metric, "$dir/json")),
        sprintf('%.15g %.15g %.6g', @$best{qw(c gamma)},
            100 * $best->{accuracy}),
        "the best by $metric");
}

# "Best gamma = 0.5, C = 1" has as many words as such a table has columns.
for my $options ('-g 0.5,0.6 --metric f1', '-s svm --metric mcc') {
    $run = grid(put("$dir/chosen",
        validate(split(' ', $options), '-c', '1,8', 'heart_scale')));
    like("$run->{exit} $run->{err}$run->{out}", qr/^0 chosen: /,
        "the end of the table of $options");
}

# Rows of a confusion matrix begin as tables do.
put("$dir/named", join '', map { (qw(C D gamma))[ $_ % 3 ] . " 1:$_\n" } 1 .. 9);
$run = grid(put("$dir/matrix", validate(qw(--string-labels --metrics -c 1:8:x8),
    "$dir/named")));
is("$run->{exit} $run->{err}", '0 ', 'classes of the names of parameters');

my @parts = map { put("$dir/part$_", validate(qw(--json -c 0.1:10:x10 -g), $_,
        'heart_scale')) } qw(2^-3 2^-7 2^-5);
is(grid(@parts)->{out}, $text =~ s/^json/grid/r, 'parts are the whole');
is(grid($parts[0], @parts)->{out}, $text =~ s/^json/grid/r, 'a part twice');

# A gamma of 0, the default, is in tables, but not in JSON.
my @default = ('-c', '1,10', '-g', '0,0.5', 'heart_scale');
put("$dir/values", validate('--json', @default));
put("$dir/rows", validate('--metrics', @default));
is(grid("$dir/values")->{out} =~ s/^values:|^accuracy.*\n//mgr,
    grid("$dir/rows")->{out} =~ s/^rows:|^accuracy.*\n//mgr,
    'the default of gamma among others');

# ---- klr-grid: one that it validates ----

my @train = ('--train', bin('klr-train'), '-q');
$run = grid(@train, '-v', 3, '--save', "$dir/model", '--results', "$dir/again",
    @whole);
is("$run->{err}$run->{out}", $text =~ s/^json/heart_scale/r, 'by klr-train');
is(grid("$dir/again")->{out}, $text =~ s/^json/again/r, 'kept');
run([ 'klr-train', '-q', '-v', 3, @whole, "$dir/straight" ]);
is(get("$dir/model"), get("$dir/straight"), 'the model of the best point');
is(grid(@train, split(' ',
    '-v 3 -log2c -1,3,2 -log2g -7,-7,1 heart_scale'))->{out},
    grid(put("$dir/heart_scale",
        validate(split ' ', '--json -c 0.5,2,8 -g 2^-7 heart_scale')))->{out},
    'the options of grid.py');
is(grid(@train, 'other', 'heart_scale')->{err},
    "klr-train: one operand too many: 'other' (usage: klr-train [options] "
    . "training_set [model])\n", 'two files of data');
is(last_line(grid(@train, split(' ',
    '-v 2 -s sklr -c 5 -g 0.1 -l 1,2 heart_scale')))
        =~ /^5 0.1 [12] [0-9.]+\z/, 1, 'a lambda in the last line');
{
    my @share = split ' ', '-v 2 -s sklr -c 5,50 -g 0.1 -l 0.1c,0.2c';
    my ($table, $json) = map { grid(put("$dir/share", validate($_, @share,
        'heart_scale')))->{out} } '-q', '--json';
    like($json, qr/^(?:5|50) 0.1 0.[12] [0-9.]+$/m,
        'lambda over C in the last line');
    like($table, qr{lambda/C}, 'and in a picture of a table');
}
is(last_line(grid(@train, split(' ',
    '-v 2 -s svm -h 0 -t 0 -c 1,2 heart_scale')))
        =~ tr/ //, 1, 'no gamma where the kernel has none');
is(last_line(grid(@train, split(' ',
    '-v 2 -s svm -t 2 --kernel=0 -c 1,2 heart_scale')))
        =~ tr/ //, 1, 'of several kernels the last one holds');
is(run([ @python, 'tools/klr-grid', @train, '-v', 3, @whole[ 0 .. 3 ], '-' ],
    stdin_file => 'heart_scale')->{out}, $text =~ s/^json/stdin/r,
    'data by stdin');
is(run([ 'sh', '-c', "cat heart_scale | @python tools/klr-grid @train -v 3 "
            . "@whole[ 0 .. 3 ] /dev/stdin" ])->{out}, $text =~ s/^json/stdin/r,
    'and from a pipe');
$run = grid(@train, '-v', 2, '-c', '0.1:40:x1.1', '-g', '0.01,0.02',
    'heart_scale');
is(max(map {length} split /\n/, $run->{out} =~ s/^accuracy.*\n//mr), 70,
    'many columns are narrow');
SKIP: {
    skip 'GNU Make alone knows what is installed', 3
        if run([ 'make', '-q', 'all', "BIN=@{[bin('.')]}",
            'BUILD=' . ($ENV{KLR_BUILD} // 'build') ])->{exit};
    run([ 'make', 'install', "PREFIX=$dir/usr", "BIN=@{[bin('.')]}",
        'BUILD=' . ($ENV{KLR_BUILD} // 'build') ], env => { MAKEFLAGS => '' });
    is(run([ "$dir/usr/bin/klr-grid", "$dir/json" ])->{out}, $text,
        'installed');
    is(last_line(run([ "$dir/usr/bin/klr-grid", '-q', '-v', 3, @whole ])),
        (split /\n/, $text)[-1], 'it finds what was installed with it');
    run([ 'make', 'uninstall', "PREFIX=$dir/usr" ], env => { MAKEFLAGS => '' });
    is(join(' ', grep {-f} glob "$dir/usr/*/* $dir/usr/*/*/*"), '',
        'uninstalled');
}

# Between the points the picture of x + 2y is x + 2y; beside a hole there is
# none.
my $interpolated = run([ @python, '-c', <<'END' ]);
import importlib.machinery, importlib.util, sys
sys.path.insert(0, "tools")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("grid", "tools/klr-grid")
grid = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("grid", loader))
loader.exec_module(grid)
plane = [[0, 1, 3], [4, 5, 7], [6, 7, 9]]
points = [(2, 1), (0.5, 0), (3, 3)]
values = [grid.interpolate([0, 1, 3], [0, 2, 3], plane, *p) for p in points]
plane[2][0] = None
print(values + [grid.interpolate([0, 1, 3], [0, 2, 3], plane, *p)
                for p in [(0.5, 2.5), (1, 1), (4, -1)]])
END
is($interpolated->{out}, "[4.0, 0.5, 9.0, None, 3.0, 3.0]\n", 'bilinear');

# Minutes of steps: klr-grid tells klr-train that it is to end, and waits.
put("$dir/long", mixed());
$run = start([ @python, 'tools/klr-grid', @train[ 0, 1 ], '-a', 'smo', '-c',
        '1e6,1e7', '-g', 0.01, '-e', 1e-9, '--results', "$dir/none",
        "$dir/long" ]);
ok(wait_for($run, qr/^klr-train: .*iterations, violation/m),
    'klr-train shows progress');
kill 'TERM', $run->{pid};
finish($run);
like("$run->{exit} $run->{err}", qr/\A143.*training was interrupted: no results
klr-grid: interrupted\n\z/s, 'a signal ends klr-train, then klr-grid');
ok(!-e "$dir/none", 'no results');

# ---- klr-plot ----

# Scores with ties, of three classes; x is unknown to the model.
my @rows = map {
    my $p = (37 * $_ % 11) / 16;
    my $q = (17 * $_ % 5) / 16;
    [ (qw(2 7 2 1.0 7))[ (13 * $_ % 31) % 5 ], $p, $q, 1 - $p - $q ];
} 1 .. 60;
my @classes = (1, 2, 7);
put("$dir/data", join '', map {"$_->[0] 1:1 # x\n\n"} @rows, ['x']);
put("$dir/output", join '', "labels @classes\n",
    map {"1 @$_[1 .. 3]\n"} @rows, [ 0, 0.5, 0.25, 0.25 ]);
put("$dir/cv", join '', "fold true labels @classes\n",
    map {"1 $_->[0] 1 @$_[1 .. 3]\n"} @rows);
put("$dir/decision", join '',
    map { ($_->[1] > 0.3 ? 2 : 1) . ' ' . ($_->[1] - 0.3) . "\n" } @rows);

# By all pairs, and by every threshold.
sub areas
{
    my ($c, $sign, @chosen) = @_;
    my (@right, @wrong);
    push @{ $_->[0] == $classes[$c] ? \@right : \@wrong },
        $sign * $_->[ $c + 1 ] for @chosen;
    my ($pairs, $precision) = (0, 0);
    for my $p (@right) {
        $pairs += ($p > $_) + ($p == $_) / 2 for @wrong;
        my $true = grep { $_ >= $p } @right;
        $precision += $true / ($true + grep { $_ >= $p } @wrong);
    }
    return map { sprintf '%.6g', $_ / @right } $pairs / @wrong, $precision;
}

for my $kind ([ 'roc', 'AUC', 0 ], [ 'pr', 'average precision', 1 ]) {
    my ($name, $area, $which) = @$kind;
    my @areas = map { (areas($_, 1, @rows))[$which] } 0 .. 2;
    my $expected = join '', map {
        "  class $classes[$_]: $area = $areas[$_]\n" } 0 .. 2;
    my $out = plot($name, '--data', "$dir/data", "$dir/output")->{out};
    my @printed = map {s/^[a-z]//r} grep {/=/} split /^/, $out;
    my ($mean) = (pop @printed)
        =~ /^\*  mean of 3 classes: $area = (\S+)$/;
    is(join('', @printed), $expected, $area);
    cmp_ok(abs($mean - sum(@areas) / 3), '<', 1e-5, "the mean $area");
    is(plot($name, "$dir/cv")->{out}, $out =~ s/: output,/: cv,/r,
        'the same of --cv-out');
    my @two = grep { $_->[0] != 7 } @rows;
    put("$dir/two", join '', map {"$_->[0]\n"} @rows);
    for my $class (1, 2) {
        # The score is that of class 1's column, and positive for class 2.
        my @chosen = map { [ ($_->[0] == $class ? 1 : 2), $_->[1] ] } @two;
        $out = plot($name, '--class', $class, '--data', "$dir/two",
            "$dir/decision");
        like($out->{out},
            qr/ = @{[(areas(0, $class == 2 ? 1 : -1, @chosen))[$which]]}\n\z/,
            "$area of decision values, class $class");
    }
    my @chosen = map { [ ($_->[0] == 2 ? 1 : 2), $_->[1] ] } @two;
    for my $least (9, -9) {
        put("$dir/side", join '', "fold true label decision1\n", map {
            my $value = $_->[1] - $least;
            "1 $_->[0] " . ($value > 0 ? 2 : 1) . " $value\n" } @two);
        like(plot($name, '--class', 2, "$dir/side")->{out},
            qr/ class 2: $area = @{[(areas(0, 1, @chosen))[$which]]}\n\z/,
            "$area where all values are on a side of 0");
    }
}
# What rounds to 1 is ranked by the other probability: 1e-17 of an example of
# the other class is less sure than 1e-20 of one of class 1.
put("$dir/sure", "fold true labels 1 -1\n1 -1 1 1 1e-17\n1 1 1 1 1e-20\n");
for my $class (1, -1) {
    like(plot('roc', '--class', $class, "$dir/sure")->{out}, qr/AUC = 1$/m,
        "ranks of what rounds to 1, class $class");
}
my @option = ('--cv-out', "$dir/held", '-c', 1, '-g', 0.05);
my ($auc) = validate(@option, 'heart_scale') =~ /^AUC = (\S+)/m;
like(plot('roc', "$dir/held")->{out}, qr/class 1: AUC = \Q$auc\E\n\z/,
    "klr-train's AUC");
like(plot('roc', "$dir/held", "$dir/cv", '--class', 1)->{out},
    qr/^a  held: AUC = \Q$auc\E\nb  cv: AUC/m, 'two files');
# Each fold has a link of its own, and a gaussian one may fall.
($auc) = validate(@option, qw(-s kfd --seed 2), 'heart_scale')
    =~ /^AUC = (\S+)/m;
like(plot('roc', "$dir/held")->{out}, qr/class 1: AUC = \Q$auc\E\n\z/,
    "klr-train's AUC of a kfd");

# 10 of 0.8, of which 8 are right, and 4 of 0.1; Wilson's intervals of 8 of 10
# and of 0 of 4 are in the textbooks.
put("$dir/calm", join '', "labels 1 -1\n", "1 0.8 0.2\n" x 10,
    "-1 0.1 0.9\n" x 4);
put("$dir/labels", "1\n" x 8 . "-1\n" x 6);
$run = plot('reliability', '--bins', 2, '--data', "$dir/labels", "$dir/calm");
is("$run->{err}$run->{out}", <<'END', 'reliability');
Reliability: calm, class 1, 8 of 14 examples

class 1
probability   examples     mean    share  95% interval
0 to 0.5             4   0.1000   0.0000  0.0000 - 0.4899  o |
0.5 to 1            10   0.8000   0.8000  0.4902 - 0.9433                  |

o: the share, |: the mean probability, between 0 and 1
END

# Of 0 of 10 it begins at 0, rounded or not.
# The name of the file is shown on a line.
put("$dir/not\nright", "labels 1 -1\n" . "1 0.8 0.2\n" x 10 . "1 0.1 0.9\n");
$run = plot('reliability', '--bins', 2, '--data',
    put("$dir/last", "-1\n" x 10 . "1\n"), "$dir/not\nright");
like($run->{out}, qr/ 0\.0000  0\.0000 - 0\.2775 /, 'no share is negative');
like($run->{out}, qr/\AReliability: not\\x0Aright, class 1,/, 'a strange name');

put("$dir/edges", "labels 1 -1\n1 1 0\n1 0.5 0.5\n-1 0.49 0.51\n");
$run = plot('reliability', '--bins', 2, '--data',
    put("$dir/three", "1\n1\n-1\n"), "$dir/edges");
is(join(' ', $run->{out} =~ /^[\d.]+ to [\d.]+ +(\d+)/mg), '1 2',
    'a bin has its lower edge, the last one both');

# The second feature decides, and is 5 + 7 = 12 in all.
put("$dir/plane", join '', map {
    my $x = $_;
    map { ($_ > 0 ? 'b' : 'a') =~ tr/ab/17/r . " 3:$x 5:$_\n" } -3, -2, 2, 3;
} 1 .. 6);
run([ qw(klr-train -q -t 0 -c 100), "$dir/plane", "$dir/flat" ]);
my @surface = ('surface', '--predict', bin('klr-predict'));
$run = plot(@surface, "$dir/flat", "$dir/plane");
my @lines = $run->{out} =~ /^  ([abAB]+)$/mg;
is(join('', map { substr $_, 0, 1 } @lines) =~ tr/abAB//sr, 'BbaA',
    'a surface, from above');
is(scalar(grep { !/\A(.)\1+\z/ } @lines), 0, 'on which one feature counts');
like($run->{out},
    qr/^feature 5 from -3.3 to 3.3.*^feature 3 from 0.75 to 6.25$/ms,
    'its axes');
like($run->{out}, qr/^a: class 1, A.*^b: class 7, B/ms, 'its classes');

put("$dir/names", join '', map {"$_\n"} qw(a b width d height));
run([ qw(klr-train -q -t 0 -c 100 --feature-names), "$dir/names",
        "$dir/plane", "$dir/named" ]);
is(plot(@surface, '--title', 'flat and plane', "$dir/named", "$dir/plane")->{out},
    $run->{out} =~ s/^feature 5/height/mr =~ s/^feature 3/width/mr,
    'by the names of the features');

# A model in a pipe, read by way of a descriptor, and twice where there are no
# probabilities.
run([ qw(klr-train -q -s svm -t 0), "$dir/plane", "$dir/two" ]);
for my $model ("$dir/flat", "$dir/two") {
    my $piped = run([ 'sh', '-c', 'cat $0 | "$@" 3<&0', $model, @python,
            'tools/klr-plot', @surface, qw(--title x /dev/fd/3),
            "$dir/plane" ]);
    is($piped->{err} . $piped->{out},
        plot(@surface, qw(--title x), $model, "$dir/plane")->{out},
        "$model in a pipe");
}

# ---- Pictures ----

SKIP: {
    skip 'gnuplot is not installed', 1 unless $gnuplot;
    my $title = q('it's' ''"x" `touch y` @GPVAL_PI \n {/Bold z});
    my $to = sub { return ('-o', "$dir/$_[0]") };
    my $drawn = sub {
        my ($name, $run, @texts) = @_;
        is($run->{err} =~ s/^klr-grid: the best point is at the edge.*\n//r
                . $run->{exit}, '0', $name);
        is_picture("$dir/$name", @texts);
    };
    $drawn->('grid.png', grid($to->('grid.png'), "$dir/json"));
    $drawn->('grid.svg', grid($to->('grid.svg'), "$dir/table"),
        'table: log loss by cross validation', '>C<', '>gamma<',
        'best: C = 1, gamma = 2, log loss = 0.125');
    $drawn->('line.svg', grid($to->('line.svg'), $parts[0]), '>C<',
        'best: C = ');
    $drawn->('roc.svg', plot('roc', $to->('roc.svg'), "$dir/cv", '--title',
        $title),
        'false positive rate', 'class 7: AUC', $title);
    $drawn->('roc.pdf', plot('roc', $to->('roc.pdf'), "$dir/cv"),
        '/CreationDate (D:19700101000000');
    $drawn->('pr.svg', plot('pr', $to->('pr.svg'), "$dir/cv"), 'recall',
        'precision');
    $drawn->('bars.svg', plot('reliability', $to->('bars.svg'), "$dir/cv"),
        'predicted probability', 'examples', 'calibrated');
    $drawn->('surface.svg',
        plot(@surface, $to->('surface.svg'), "$dir/flat", "$dir/plane"),
        'feature 3', 'feature 5', 'probability of class 7', 'boundary');
    put("$dir/signed", get("$dir/plane") =~ s/^7/+7.0/mgr);
    is(script('klr-plot', @surface, "$dir/flat", "$dir/signed")
            =~ s/signed/plane/gr,
        script('klr-plot', @surface, "$dir/flat", "$dir/plane"),
        'classes are spelled as the model does');
    like(script('klr-plot', @surface, "$dir/two", "$dir/plane"),
        qr/"decision value, positive: class 7"/, 'of decision values');
    # Of the most frequent class everywhere: no value is positive.
    put("$dir/rare", get("$dir/plane") . "1 3:1 5:-3\n" x 5);
    run([ qw(klr-train -q -s svm -t 0 -c 1e-6), "$dir/rare", "$dir/one.sign" ]);
    plot(@surface, $to->('rare.svg'), "$dir/one.sign", "$dir/rare");
    is_picture("$dir/rare.svg", 'decision value, positive: class 7');
    put("$dir/bare", get("$dir/rare") =~ s/^\S+ //mgr);
    like(script('klr-plot', @surface, "$dir/one.sign", "$dir/bare"),
        qr/"decision value"/, 'or of none that is known');
    put("$dir/plane3", get("$dir/plane") . "3 3:9 5:0\n4 3:9 5:9\n" x 5);
    run([ qw(klr-train -q -c 10), "$dir/plane3", "$dir/three" ]);
    plot(@surface, '-o', "$dir/three.svg", "$dir/three", "$dir/plane3");
    is_picture("$dir/three.svg", 'the most probable class', 'class 4');
    is(join(' ', grep {-e} glob("$dir/.klr*"), 'y'), '',
        'nothing else is left');
}
for my $tool ([ 'klr-grid', "$dir/json" ], [ 'klr-plot', 'roc', "$dir/cv" ]) {
    my ($name, @arguments) = @$tool;
    $run = bare("tools/$name", @arguments, '-o', "$dir/none.png");
    is("$run->{exit}$run->{out}$run->{err}",
        "1$name: $dir/none.png: gnuplot, which draws pictures, is not"
            . " installed; without -o there is text\n",
        "$name has no picture without gnuplot");
}

# ---- What is in pictures ----

# Three curves of which the mean is known: one rises at once, one is the
# diagonal, one has a step at a half.
my $mean = run([ @python, '-c', <<'END' ]);
import sys
sys.path.insert(0, "tools")
sys.dont_write_bytecode = True
import klr_curves
print(klr_curves.mean_points([[(0, 0), (0, 1), (1, 1)], [(0, 0), (1, 1)],
                              [(0, 0), (0.5, 0), (0.5, 1), (1, 1)]]))
END
is($mean->{out} =~ s/\d\.\d{6}\K\d+//gr, "[(0, 0.0), (0, 0.333333), "
        . "(0.5, 0.5), (0.5, 0.833333), (1, 1.0)]\n", 'a mean of curves');

# The area under the mean that is drawn is the mean of the areas.
for my $kind (qw(roc pr)) {
    my $script = script('klr-plot', $kind, "$dir/cv");
    my @points = @{ rows_of($script, 'c3') };
    my $area = sum(map { ($points[ $_ + 1 ][0] - $points[$_][0])
                * ($points[ $_ + 1 ][1] + $points[$_][1]) / 2 } 0 .. $#points - 1);
    my ($told) = $script =~ /"mean of 3 classes: [^=]* = ([\d.]+)"/;
    cmp_ok(abs($area - $told), '<', 1e-5, "the area under a mean of $kind");
}

# The last piece, from 1 of 3 and 3 of 7 on, rises as a line from (-1, -1) would.
put("$dir/rises", join '', "fold true labels 1 2\n", "1 2 1 0.9 0.1\n" x 3,
    "1 1 1 0.8 0.2\n", "1 1 1 0.5 0.5\n" x 2, "1 2 1 0.5 0.5\n" x 4);
my $script = script('klr-plot', 'roc', '--class', 1, "$dir/rises");
is(join(' ', map { sprintf '%.3f,%.3f', @$_ } @{ rows_of($script, 'c0') }),
    '0.000,0.000 0.429,0.000 0.429,0.333 1.000,1.000', 'a curve to its end');

$script = script('klr-plot', 'pr', "$dir/cv");
my @shares = map { my $c = $_; sprintf '%.3g',
        grep({ $_->[0] == $c } @rows) / @rows } @classes;
like($script, qr/title "chance, class $classes[$_]: \Q$shares[$_]\E"/,
    "the chance of class $classes[$_]") for 0 .. 2;
like($script, qr/title "chance, mean of 3 classes: 0.333"/, 'and of the mean');
like($script, qr/^set title "Precision and recall: cv, 60 examples"$/m,
    'the title of several classes');
like($script, qr/^set key outside .* opaque/m, 'a long legend is outside');

my $count = grep { $_->[0] == 1 } @rows;
put("$dir/part", join '', (split /^/, get("$dir/cv"))[ 0 .. 30 ]);
my $fewer = grep { $_->[0] == 1 } @rows[ 0 .. 29 ];
$script = script('klr-plot', 'roc', '--class', 1, "$dir/cv", "$dir/part");
like($script, qr/^set title ".*: class 1, $fewer to $count of 30 to 60 examples"$/m,
    'class and counts of several files');
like($script, qr/^set key bottom right .* opaque/m, 'a short legend is inside');
is(scalar(() = $script =~ /'chance|"chance/g), 1, 'chance is drawn once');
$script = script('klr-plot', 'roc', "$dir/cv", "$dir/part");
like($script, qr/title "$_: AUC = /, "the mean alone of $_") for qw(cv part);
unlike($script, qr/"[^"]*class \d: AUC/, 'and no classes');

# More classes than colours and letters: all are told, and one line of the
# legend stands for those in grey.
my @many = map {"k$_"} 1 .. 60;
put("$dir/many", join '', "fold true labels @many\n", map {
        my $true = $_ % 60;
        my @p = map { $_ == $true ? 0.41 : 0.01 } 0 .. 59;
        "1 $many[$true] $many[$true] @p\n" } 1 .. 120);
$run = plot('roc', '--string-labels', "$dir/many");
is(scalar(() = $run->{out} =~ /^\S  class k\d+: AUC = 1$/mg), 60, '60 classes');
like($run->{out}, qr/^\*  mean of 60 classes: AUC = 1$/m, 'and their mean');
$script = script('klr-plot', 'roc', '--string-labels', "$dir/many");
is(scalar(() = $script =~ /(?<!set) title "/g), 3, 'chance, classes and mean');
like($script, qr/title "60 classes: from 1 to 1"/, 'the classes in a line');

# Of the most probable class: 10 of 0.6, of which 7 are right.
put("$dir/best", join '', "fold true labels 1 2 3\n",
    "1 2 2 0.3 0.6 0.1\n" x 7, "1 1 2 0.3 0.6 0.1\n" x 3);
$run = plot('reliability', '--bins', 2, "$dir/best");
is($run->{out}, <<'END', 'reliability of the most probable class');
Reliability: best, most probable of 3 classes, 10 examples

most probable of 3 classes
probability   examples     mean    share  95% interval
0 to 0.5             0
0.5 to 1            10   0.6000   0.7000  0.3968 - 0.8922              | o

o: the share, |: the mean probability, between 0 and 1
END
$script = script('klr-plot', 'reliability', "$dir/best");
like($script, qr/'share that is right, 95% interval'/, 'its axis');
like($script, qr/^set key .* opaque/m, 'its legend');
$run = plot('reliability', '--class', 2, '--bins', 1, "$dir/cv");
like($run->{out}, qr/^Reliability: cv, class 2, /, 'or of a class');

# A grid has C and gamma on its axes, and its points are clear of the frame.
$script = script('klr-grid', "$dir/json");
like($script, qr/^set [xy]label "$_"$/m, "an axis of $_") for qw(C gamma);
like($script, qr/^set xtics \(.*"0.1" -3.32192809.*"10" 3.32192809/m,
    'named by values');
for my $axis ([ x => 0 ], [ y => 1 ]) {
    my ($name, $i) = @$axis;
    my ($low, $high) = $script =~ /^set ${name}range \[(\S+):(\S+)\]$/m;
    my @values = map { $_->[$i] } @{ rows_of($script, 'points') };
    my $margin = 0.03 * (max(@values) - min(@values));
    ok($low < min(@values) - $margin && $high > max(@values) + $margin,
        "points are clear of the frame along $name");
}
like(script('klr-grid', $parts[0]), qr/^set xlabel "C"\n.*^set xtics \("/ms,
    'a curve over C');

# ---- Refusals ----

$run = grid(@train, '-log2c', '0,1e3,1e-9', 'heart_scale');
is("$run->{exit} $run->{err}", "2 klr-train: option -c: more than 64 values\n",
    'a grid of a billion');

put("$dir/one", validate('--json', 'heart_scale'));
put("$dir/plain", "1\n-1\n");
put("$dir/pairs", "1 2 3\n");
put("$dir/three.json", qq({"values": 3}\n));
put("$dir/words.json", qq({"values": [{"c": "a", "log_loss": 1}]}\n));
my $number = 0;
put("$dir/single", "fold true labels 1 -1\n1 1 1 0.5 0.5\n");
for my $case (
    [ 'klr-grid',
        "$dir/one: no grid: -v with several values of -c, -g or -l makes one",
        "$dir/one" ],
    [ 'klr-grid', "$dir/three.json: not JSON of klr-train",
        "$dir/three.json" ],
    [ 'klr-grid', "$dir/words.json: not JSON of klr-train",
        "$dir/words.json" ],
    [ 'klr-grid', "$dir/data: no results of klr-train -v", "$dir/data",
        "$dir/table" ],
    [ 'klr-grid',
        'the results have no mcc: klr-train --metrics prints all metrics',
        '--metric', 'mcc', "$dir/table" ],
    map({ my ($options, $metric) = @$_;
        [ 'klr-grid',
            "the results have no $metric: the model has no probabilities",
            '--metric', $metric,
            put("$dir/svm" . ++$number, validate(split(' ', $options),
                qw(-s svm -c 1:8:x8 heart_scale))) ]
    } [ '', 'logloss' ], [ '--metrics', 'ece' ], [ '--json', 'brier' ]),
    [ 'klr-grid',
        "two results at C = 1, gamma = 2, in $dir/other and $dir/table: of "
        . 'other data or folds, or tables without gamma, which --json has',
        put("$dir/other", $table =~ s/0.125/0.126/r), "$dir/table" ],
    [ 'klr-grid', "$dir/none: No such file or directory", "$dir/none" ],
    [ 'klr-grid',
        '3: no such file: data or results come last, behind options of '
        . 'klr-train',
        @train, 'heart_scale', '-v', 3 ],
    [ 'klr-grid', "$dir/no/x.png: cannot write: No such file or directory",
        '-o', "$dir/no/x.png", "$dir/json" ],
    [ 'klr-grid', "$dir/no/x: cannot write: No such file or directory", @train,
        '--results', "$dir/no/x", 'none' ],
    [ 'klr-grid', "$dir: cannot write: Is a directory", @train, '--results',
        $dir, 'none' ],
    [ 'klr-plot', 'output: the true labels are missing: --data', 'roc',
        "$dir/output" ],
    [ 'klr-plot', 'output: 61 predictions, but 14 examples in labels', 'roc',
        '--data', "$dir/labels", "$dir/output" ],
    [ 'klr-plot', 'plain: labels alone: no probabilities, no decision values',
        'pr', "$dir/plain" ],
    [ 'klr-plot',
        'pairs: decision values of several pairs of classes: probabilities '
        . 'are needed',
        'pr', '--data', put("$dir/short", "1\n"), "$dir/pairs" ],
    [ 'klr-plot', 'decision: decision values: reliability is of probabilities',
        'reliability', '--data', "$dir/two.data", "$dir/decision" ],
    [ 'klr-plot', "$dir/no/x.png: cannot write: No such file or directory",
        'roc', '-o', "$dir/no/x.png", "$dir/cv" ],
    [ 'klr-plot', "$dir/a\\x0A\\x1Bb: No such file or directory", 'roc',
        "$dir/a\n\eb" ],
    [ 'klr-plot', 'cv: there is no class 9', 'roc', '--class', 9, "$dir/cv" ],
    [ 'klr-plot', 'single: only examples of class 1', 'roc', "$dir/single" ],
    [ 'klr-plot', 'heart_scale: not predictions', 'roc', 'heart_scale' ],
    [ 'klr-plot', 'nan: not predictions', 'roc', '--data', "$dir/two.data",
        put("$dir/nan", "labels 1 -1\n1 nan 0\n") ],
    [ 'klr-plot', 'python: not predictions', 'roc', '--data', "$dir/two.data",
        put("$dir/python", "labels 1 -1\n1 1_0 0\n") ],
    [ 'klr-plot', "$dir/python.data: not data", @surface, "$dir/flat",
        put("$dir/python.data", "1 1_0:1 2:3\n") ],
    [ 'klr-plot', 'true: not the predictions of klr-predict', 'surface',
        '--predict', 'true', "$dir/flat", "$dir/plane" ],
    [ 'klr-plot', 'heart_scale: 13 features, but a surface has two', @surface,
        "$dir/flat", 'heart_scale' ])
{
    my ($tool, $message, @arguments) = @$case;
    put("$dir/two.data", "1\n" x @rows);
    $run = run([ @python, "tools/$tool", @arguments ]);
    is("$run->{exit} $run->{err}", "1 $tool: $message\n", $message);
}
# With gnuplot or without.
$run = bare('tools/klr-plot', 'roc', '-o', "$dir/no/x.png", "$dir/cv");
is("$run->{exit} $run->{err}", "1 klr-plot: $dir/no/x.png: cannot write:"
    . " No such file or directory\n", 'a path is looked at before gnuplot');
# In a folder that may not be written, nothing but what is written as it is.
mkdir "$dir/shut";
put("$dir/shut/file", '');
mkfifo("$dir/shut/pipe", 0666) or die $!;
chmod 0711, $dir;
chmod 0666, "$dir/shut/file", "$dir/shut/pipe";
chmod 0555, "$dir/shut";
for my $case ([ pipe => '0 ' ],
    [ file => "1 -c: $dir/shut/file: cannot write: Permission denied\n" ])
{
    my ($name, $said) = @$case;
    $run = run([ @python, '-c', 'import os, sys; sys.path.insert(0, "tools");'
            . ' import klr_tool as t; os.geteuid() or os.setuid(65534);'
            . ' t.run_program(lambda: t.check_output(sys.argv[1]))',
            "$dir/shut/$name" ]);
    is("$run->{exit} $run->{err}", $said, "a $name in a folder that is shut");
}

# A disk that is full after a block of 512 bytes. What klr-grid found out is
# shown nevertheless: a pipe takes it.
my $full = '(ulimit -f 1 && exec "$@")';
put("$dir/old$_", "old\n") for '', '.svg';
for my $case ([ 'klr-train', '--save', "$dir/old" ],
    [ 'klr-grid', '--results', "$dir/old" ],
    $gnuplot ? [ 'klr-grid', '-o', "$dir/old.svg" ] : ())
{
    my ($program, @option) = @$case;
    $run = run([ 'sh', '-c', "{ $full; echo \$?; } | tail -n 2", 'sh', @python,
            'tools/klr-grid', @train, '-v', 3, @option, @whole ]);
    is($run->{err}, "$program: $option[1]: cannot write: File too large\n",
        "no disk for klr-grid $option[0]");
    is($run->{out}, last_line({ out => $text }) . "\n1\n",
        'the best point is told');
    is(get($option[1]), "old\n", 'an old file stays');
}
SKIP: {
    skip 'gnuplot is not installed', 2 unless $gnuplot;
    $run = run([ 'sh', '-c', $full, 'sh', @python, 'tools/klr-plot', 'roc',
            '-o', "$dir/old.svg", "$dir/cv" ]);
    is("$run->{exit} $run->{err}",
        "1 klr-plot: $dir/old.svg: cannot write: File too large\n",
        'no disk for klr-plot');
    is(get("$dir/old.svg"), "old\n", 'an old file stays');
}
is(grid('--train', 'true', 'heart_scale')->{err},
    "klr-grid: heart_scale: no results of klr-train -v\n",
    'a program that prints nothing');
is(join(' ', glob "$dir/.klr*"), '', 'and nothing else is left');
my @results = split /^/, get("$dir/again");
$run = run([ 'sh', '-c', 'exec >>"$0" "$@"', put("$dir/log", "before\n"),
        @python, 'tools/klr-grid', @train, '-v', 3, '--results', '/dev/stdout',
        @whole ]);
my @log = split /^/, get("$dir/log");
is("$log[0]$log[-1]", "before\n" . last_line({ out => $text }) . "\n",
    '/dev/stdout is written behind what it has');
is($log[1] =~ s/"seconds.*//sr, $results[0] =~ s/"seconds.*//sr,
    'results first');
for my $case ([ 'klr-grid' ], [ 'klr-grid', '-c', 1, "$dir/json" ],
    [ 'klr-grid', '--save', "$dir/x", "$dir/json" ],
    [ 'klr-grid', '--results', "$dir/x", "$dir/json" ],
    [ 'klr-grid', '--log2c', '1,2,1', "$dir/json" ],
    $gnuplot ? [ 'klr-grid', '-o', ("$dir/x.png") x 2, "$dir/json" ]
        : (),
    [ 'klr-grid', '-o', 'x.eps', "$dir/json" ],
    [ 'klr-grid', '--metric', 'x', 'y' ],
    [ 'klr-grid', @train, '-c', '1,2', '--results', "$dir/./data",
        "$dir/data" ],
    [ 'klr-grid', @train, '-c', '1,2', '--results', "$dir/x", '--save',
        "$dir/x", "$dir/data" ],
    [ 'klr-plot' ], [ 'klr-plot', 'roc' ], [ 'klr-plot', 'pie', "$dir/cv" ],
    [ 'klr-plot', 'reliability', '--bins', 0, "$dir/cv" ])
{
    my ($tool, @arguments) = @$case;
    is(run([ @python, "tools/$tool", @arguments ])->{exit}, 2,
        "wrong usage: @$case");
}
for my $case ([ '1,2', "'1,2' is not FIRST,LAST,STEP" ],
    [ '2,1,1', "'2,1,1': no values between these" ])
{
    my ($text, $message) = @$case;
    $run = grid(@train, '-log2g', $text, 'heart_scale');
    my ($said) = $run->{err} =~ /^klr-grid: error: (.*)/m;
    is("$run->{exit} $said", "2 argument -log2g/--log2g: $message",
        "wrong usage: $message");
}
for my $case ([ '-log2c', '-c', '-c', 1 ], [ '-log2g', '-g', '--gamma=1' ]) {
    my ($own, $other, @option) = @$case;
    $run = grid(@train, $own, '1,2,1', @option, 'heart_scale');
    my ($said) = $run->{err} =~ /^klr-grid: error: (.*)/m;
    is("$run->{exit} $said", "2 $own and $other exclude each other",
        "wrong usage: $own @option");
}
is(grid(@train, '-c', 'x', 'heart_scale')->{exit}, 2,
    'the status of klr-train');
for my $tool (qw(klr-grid klr-plot)) {
    $run = run([ "tools/$tool", '--help' ]);
    like("$run->{exit}$run->{out}", qr/\A0usage: $tool .*--help/s,
        "$tool --help");
    next unless -w '/dev/full';
    my @shown = $tool eq 'klr-grid' ? "$dir/json" : ('roc', "$dir/cv");
    for my $arguments (\@shown, ['--help']) {
        $run = run([ "tools/$tool", @$arguments ], stdout_file => '/dev/full');
        like("$run->{exit} $run->{err}",
            qr/\A1 $tool: stdout: cannot write: No space left/,
            "$tool on a full disk");
    }
}

done_testing();
