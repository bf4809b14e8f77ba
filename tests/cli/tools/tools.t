# SPDX-License-Identifier: BSD-3-Clause
#
# The tools: klr-check against the refusals of klr-train, klr-subset against
# what it must have drawn.
use strict;
use warnings;
use lib 'tests/cli/lib';
use POSIX qw(mkfifo);
use Test::More;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();

sub check { return run([ 'tools/klr-check', @_[ 1 .. $#_ ] ], stdin => $_[0]) }
sub subset { return run([ 'tools/klr-subset', @_ ]) }
sub rows { return split /^/, get($_[0]) }

# ---- klr-check: what klr-train refuses ----

my @bad = ('x 1:1', '1x 1:1', '1:1 2:1', '  1:1', 'nan 1:1', '-inf 1:1',
    '0x1 1:1', '1e999 1:1', '1 1:a', '1 1:1x', '1 1:', '1 1: 2', '1 :1', '1 1',
    '1 1:1 x', '1 1:1:1', '1 1:nan', '1 1:-Infinity', '1 1:1e400', '1 1:0x10',
    '1 0x1:1', '1 0:1 0:1', '1 -1:1', '1 +1:1', '1 1.5:1', '1 a:1', '1 2:1 1:1',
    '1 1:1 1:2', '1 2147483648:1', '1 99999999999999999999:1',
    '1 0000000000000000001:1', '1 qid:x 1:1', '1 1:1 qid:3', '1,0.5,0.25',
    '1 1:1;2', 'x 1:1,2', '1 1:0,5 2:1', '0,5 1:1', '-0,5', '1 1:-3,25',
    '1 1:0,5,2', '1 1:,5', '1 1:5,', '1 1:0.5,3', '1 1:1:0,5', '1,5 2,5',
    '1 1,5', '1,2 1:1', '1,2,3 1:1', 'a,b 1:1', '1 2,5 1:1',
    'svm_type c_svc', 'svm_type', "1 1:1\0", "1\t1:1\t2:b", "1 \xc3\xa9:1", "1 \xff:1",
    "\xef\xbb\xbf1 1:1", "1 1:1\xe2\x81\xa0", "1 \xc2\xa01:1",
    '9007199254740993 1:1', '-9007199254740993. 1:1',
    '1 1:' . 'y' x 100, "1 1:1\x0b", "1 1:1\r2", '1 1:.', '1 1:+.5e+3e');
my @bad_names = ('1:1 2:1', 'a:b 1:1', 'a,b', "a\x01 1:1", "\xff 1:1",
    "\xc2\x85 1:1", "\xed\xa0\x80 1:1", "a\x0b 1:1", "a\0 1:1", 'a 1:x', 'a b');
# Each line is refused as klr-train, with the same options, refuses it alone.
sub as_klr_train
{
    my ($bad, @option) = @_;
    my $file = put("$dir/bad", join '', map {"$_\n"} @$bad);
    my $found = check('', '-q', @option, $file);
    is($found->{exit}, 1, "klr-check @option: exit status of problems");
    my %first;
    for (split /\n/, $found->{out}) {
        $first{$1} //= $_ if /^\Q$file\E:(\d+):/;
    }
    for my $i (0 .. $#$bad) {
        my $one = put("$dir/one", "\n" x $i . "$bad->[$i]\n");
        my $train = run([ 'klr-train', @option, $one, "$dir/model" ]);
        my ($said) = $train->{err} =~ /\Aklr-train: \Q$one\E(:.*)\n\z/;
        is($first{ $i + 1 }, $file . ($said // ' nothing'),
            "as klr-train @option: " . ($bad->[$i] =~ s/[^ -~]/?/gr));
    }
    my $counted = () = $found->{out} =~ /^\Q$file\E:/mg;
    like($found->{out}, qr/^$counted problems in @{[scalar @$bad]} lines\n\z/m,
        'they are counted');
}

as_klr_train(\@bad);
as_klr_train([ '1:1 2:1', 'a:b 1:1', 'a,b', "a\x01 1:1", "\xff 1:1",
        "\xc2\x85 1:1", "\xed\xa0\x80 1:1", "a\x0b 1:1", "a\0 1:1", 'a 1:x',
        'a b', 'svm_type c_svc', "a\xe2\x80\x8f 1:1", "\xc2\xa0 1:1", "\xf3\xa0\x80\x81 1:1",
        "\xef\xbb\xbfa 1:1", "a\xef\xbb\xbf 1:1" ], '--string-labels');

for my $case (
    [ "1 1:1 x 3:0x1 3:2 2:1 4:1\n",
        "1:7: feature 'x': not index:value",
        "1:9: feature '3:0x1': hexadecimal numbers are not read",
        "1:15: feature '3:2': repeated index",
        "1:19: feature '2:1': index after 3, but indices must ascend" ],
    [ "\xef\xbb\xbf1:2 2:\n# x\n\nfoo 1:z\r\n",
        "1:1: missing label before '1:2'", "1:5: feature '2:': missing value",
        "4:1: label 'foo': not a number (--string-labels reads names)",
        "4:5: feature '1:z': not a number" ],
    [ "\xff\xfe1\0",
        '1:1: this is UTF-16 or UTF-32 text: convert it to UTF-8' ],
    [ "\x1f\x8b\x08\0\n1",
        "1:1: this is compressed by gzip: read - behind 'gzip -dc FILE |'" ],
)
{
    my ($text, @problems) = @$case;
    my $run = check($text, '-q', '-');
    is(join('', grep {/^stdin:/} split /^/, $run->{out}),
        join('', map {"stdin:$_\n"} @problems), "every problem: $problems[0]");
    is($run->{exit}, 1, 'its exit status');
}
is(check('', '-')->{out}, "stdin: no examples\n", 'no examples');
is(check("a\nb\n", '-q', '--most', 1, '-')->{out},
    "stdin:1:1: label 'a': not a number (--string-labels reads names)\n"
    . "2 problems in 2 lines\n", '--most');
is(check('', '--most', $_, 'heart_scale')->{exit}, 2, "--most $_: wrong usage")
    for qw(0 -1 1_0);
is(check("1:1\n1 2:1\n", '-q', '--unlabelled', '-')->{out}, '', '--unlabelled');
is(check("9007199254740994 1:1\n1e30\n0009007199254740992.0\n", '-q', '-')
    ->{out}, '', 'large integers that are doubles');
like(check("9007199254740994 1:1\n9007199254740992 1:2\n", '-')->{out},
    qr/^9007199254740992 .*\n9007199254740994 /m, 'are two classes');
is(check("1 0:1 1:1\n2 0:2 1:1\n", '-q', '--precomputed', '-')->{out}, '',
    '--precomputed');
like(check("1 1:1\n", '-q', '--precomputed', '-')->{out},
    qr/\Astdin:1: a precomputed kernel needs 0:SERIAL/,
        'without serial numbers');

# ---- klr-check: what is in the file ----

my $run = check('', 'heart_scale');
is("$run->{exit}|$run->{err}|$run->{out}", <<'END', 'heart_scale');
0||heart_scale: 270 examples, 13 features, the last of index 13
values: 3378, 96.2% of all
range: from -1 to 1
classes: 2
        -1       150  55.56%
         1       120  44.44%
no problems
END
is(check("1 1:1 9:3\n1.0 1:1\n+1 1:1\n", '-')->{out}, <<'END', 'warnings');
stdin: 3 examples, 2 features, the last of index 9
values: 4, 66.7% of all
range: from 0 to 3
classes: 1
         1         3  100%
warning: all examples have the same label
warning: 1 of 2 features never changes
no other problems
END
my @named = ('--string-labels', '-');
is(check("\xc3\xa4 1:1\n+1 1:0 # x\n1 1:1\n+1#\n", @named)->{out},
    <<"END", 'names');
stdin: 4 examples, 1 feature, the last of index 1
values: 3, 75% of all
range: from 0 to 1
classes: 3
         \xc3\xa4         1  25%
        +1         2  50%
         1         1  25%
no problems
END
like(check(join('', map {"$_ 1:1\n"} 1 .. 40), @named)->{out},
    qr/^warning: 40 distinct labels look like names of examples$/m,
    'names of examples');
my @warnings = ('40 distinct labels look like regression targets',
    'qid is ignored', '1 feature leaves \[-1, 1\], and the widest range is 48.8'
    . ' times the narrowest');
like(check(join('', map {"$_.5 qid:1 1:$_ 2:0.$_\n"} 1 .. 40), '-')->{out},
    qr/^@{[join '\n', map {"warning: $_"} @warnings]}/m, 'other warnings');
# Ranges of which the widest is ten times the narrowest, or more than that.
for my $case ([ 10, 0 ], [ 11, 1 ]) {
    my ($most, $told) = @$case;
    my $text = check("1 1:1 2:$most\n2 1:0 2:0\n1 1:1 2:1\n", '-')->{out};
    is($text =~ /^warning: .*widest range is/m ? 1 : 0, $told,
        "ranges of 1 and $most");
}
# Of few examples a class of one is no surprise.
for my $case ([ 30, 0 ], [ 31, 1 ]) {
    my ($count, $told) = @$case;
    my $text = check(join('', "3 1:1\n", map { $_ % 2 . " 1:$_\n" }
            2 .. $count), '-')->{out};
    is($text =~ /^warning: class 3 has one example only$/m ? 1 : 0, $told,
        "a class of one among $count examples");
}
# Whether gamma fits the features: as klr-train says it, by its default.
sub spread_of
{
    my ($text, $name) = @_;
    my $file = put("$dir/spread", $text);
    my ($train) = run([ 'klr-train', '-q', $file, '/dev/null' ])->{err}
        =~ /by the default gamma (examples are too .*?)(?: at C = \d+)?: scale/;
    my ($check) = check('', $file)->{out}
        =~ /^warning: by klr-train's default gamma, 1\/\d+, (.*?): scale the/m;
    is($check // '', $train // '', "$name: as klr-train");
    return $check // '';
}
# Rows with two features of a hundred values each, next to each other or not.
sub grid_rows
{
    my ($rows, $from, $step) = @_;
    return join '', map { ($_ % 2 ? '1' : '-1') . ' 1:' . ($from + $step
            * ($_ * 37 % 101)) . ' 2:' . ($from + $step * ($_ * 73 % 103))
            . "\n" } 1 .. $rows;
}
like(spread_of(grid_rows(500, 27, 1.3), 'from 27 to 157'),
    qr/too far apart to tell/, 'features from 27 to 157');
put("$dir/many", join '', map { grid_rows(10403, $_, 10) } 27, 30);
like(check('', "$dir/many")->{out}, qr/too far apart to tell/,
    'a sample of many examples');
is(spread_of(grid_rows(500, 0, 0.01), 'from 0 to 1'), '', 'scaled features');
like(spread_of(grid_rows(500, 0, 1e-5), 'small features'),
    qr/too near each other/, 'features of too little range');
is(spread_of("1 1:$_\n2 1:0\n", $_), '', "a range of $_ will do")
    for 0.1, 0.5, 1e200;
like(spread_of("1 1:0.01\n2 1:0\n", 0.01), qr/too near/, '0.01 will not');
for my $case ([ '', 'no features' ], [ ' 1:5 2:7', 'constants' ]) {
    my ($features, $name) = @$case;
    my $file = put("$dir/spread", "1$features\n2$features\n" x 20);
    my $same = qr/^\S*warning: (?:\S+: )?all examples have the same features/m;
    like(run([ 'klr-train', '-q', $file, '/dev/null' ])->{err} =~ s/^\S+ //r,
        $same, "$name: klr-train");
    like(check('', $file)->{out}, $same, "$name: klr-check");
}
like(spread_of("1 1:1e-300\n2 1:-1e-300\n" x 20, 'an underflow'),
    qr/too near/, 'distances that round to 0');

# Symmetric where klr-train has to find it so, and looked at where it is square.
my $matrix = "1 0:1 1:1 2:0.5\n-1 0:3 1:0.2001 2:0.1 3:1\n"
    . "-1 0:2 1:0.5 2:1 3:0.1\n";
for my $case (
    [ 'a matrix that is not symmetric', $matrix,
        'K(3,1) = 0.2001, but K(1,3) = 0' ],
    [ 'but for rounding', $matrix =~ s/0.5$/0.5 3:0.2/mr ],
    [ 'one of more columns', $matrix =~ s/$/ 4:1/mr ],
    [ 'one of more rows', "$matrix-1 0:4 1:1\n" ],
    [ 'other serial numbers', $matrix =~ s/0:3/0:4/r ],
    [ 'the same serial number', $matrix =~ s/0:3/0:2/r,
        'two rows have the serial number 2, with K(2,1) = 0.2001 and 0.5' ],
    [ 'in equal rows', "1 0:1 1:1 2:0.5\n" . "-1 0:2 1:0.5 2:1 3:0.1\n" x 2 ],
    [ 'no serial number', $matrix =~ s/0:1 //r ])
{
    my ($name, $text, $said) = @$case;
    my $shown = check($text, '--precomputed', '-')->{out};
    is(join('', $shown =~ /^warning: .* refuses.*\n/mg), $said
        ? "warning: $said: klr-train refuses a matrix that is not symmetric\n"
        : '', $name);
}

like(check($matrix, '--precomputed', '-')->{out},
    qr/\Astdin: 3 examples, 3 features.*^range: from 0 to 1$/ms,
    'a serial number is no feature');

# Text that stdout cannot have as it is.
my $latin = put("$dir/\xe4", "\xc3\xa4 1:1\n");
like(run([ 'tools/klr-check', '--string-labels', $latin ],
    env => { PYTHONIOENCODING => "$_->[0]:strict" })->{out},
    qr{\A\Q$dir/\xE4\E: 1 ex.*^ +\Q$_->[1]\E +1  100%}ms,
    "a name in Latin-1, $_->[0]") for [ ascii => '?' ], [ utf8 => "\xc3\xa4" ];

# Control characters in a name, as klr-train shows them.
my $strange = put("$dir/\n\e\xc2\x85", "x 1:1\n");
my ($said) = run([ 'klr-train', $strange ])->{err} =~ /\Aklr-train: (.*)\n\z/;
is(check('', '-q', $strange)->{out}, "$said\n1 problem in 1 line\n",
    'a name with control characters');
like($said, qr{^\Q$dir/\x0A\x1B\xC2\x85:1:1: }, 'on a line');

# ---- klr-subset ----

my @all = rows('heart_scale');
$run = subset('heart_scale', 90, "$dir/subset", "$dir/rest");
is("$run->{exit}$run->{out}$run->{err}", '0', 'klr-subset: says nothing');
my @subset = rows("$dir/subset");
my @rest = rows("$dir/rest");
is(grep({/^\+1/} @subset) . ' ' . grep({/^-1/} @subset), '40 50', 'stratified');
is_deeply([ sort @subset, @rest ], [ sort @all ], 'the rest is the rest');
my %taken = map { $_ => 1 } @subset;
is_deeply([ grep { $taken{$_} } @all ], \@subset, 'in the order of the file');
is(subset('heart_scale', 90)->{out}, join('', @subset), 'the same again');
isnt(subset('--seed', 2, 'heart_scale', 90)->{out}, join('', @subset),
    'another seed');
my %drawn = map { $_ => 1 }
    map { split /^/, subset('--seed', $_, 'heart_scale', 200)->{out} } 1 .. 6;
cmp_ok(scalar(keys %drawn), '>', 268, 'every example is drawn once');

put("$dir/parts", join '',
    map { my $c = $_; map {"$c->[0] 1:$_\n"} 1 .. $c->[1] } ['a', 17],
    ['b', 16], ['c', 7]);
my %part;
$part{ (split)[0] }++ for split /\n/, subset("$dir/parts", 10)->{out};
is_deeply(\%part, { a => 4, b => 4, c => 2 },
    'parts are rounded: 4.25, 4, 1.75');

put("$dir/rare", "\xef\xbb\xbf" . join '',
    map({"a 1:$_\n# no example\n\n"} 1 .. 97), "+1 1:1\r\n1.0 1:2\n", 'c 1:1');
$run = subset("$dir/rare", 10);
is(join(' ', map { (split)[0] } split /\n/, $run->{out}),
    'a a a a a a a a 1.0 c', 'one of each class at least');
like($run->{out}, qr/c 1:1\n\z/, 'a line feed behind the last');
unlike($run->{out}, qr/#|^\n|\xef/m, 'examples only');
is(subset("$dir/rare", 100)->{out} =~ tr/\n//, 100, 'all');
is(join(' ', sort map { (split)[0] } split /\n/, subset("$dir/rare", 3)->{out})
    =~ s/1\.0/+1/r,
    '+1 a c', 'one of each class only');
is(() = subset('-s', 1, "$dir/rare", 2)->{out} =~ /^\S/mg, 2, '-s 1');
is(run([ 'tools/klr-subset', '-', 90 ], stdin_file => 'heart_scale')->{out},
    join('', @subset), 'a file as stdin');
is(run([ 'sh', '-c', 'cat heart_scale | tools/klr-subset - 90' ])->{out},
    join('', @subset), 'a pipe');

# Of numbers only those that klr-train reads, not those of Python.
is(subset(put("$dir/numbers", "10 1:1\n1_0 1:1\n1e1 1:1\n\xd9\xa1 1:1\n"), 2)
        ->{err},
    "klr-subset: $dir/numbers: 2 examples cannot have one of each of the 3 "
        . "classes: -s 1 does without\n", '10 is 1e1, but not 1_0');

# ---- Refusals ----

put("$dir/old", "old\n");
for my $case (
    [ "$dir/rare: there are 100 examples only", "$dir/rare", 101, "$dir/old" ],
    [ "$dir/rare: 2 examples cannot have one of each of the 3 classes: -s 1"
            . ' does without', "$dir/rare", 2, "$dir/old" ],
    [ "$dir/none: No such file or directory", "$dir/none", 2, "$dir/old" ])
{
    my ($message, @arguments) = @$case;
    $run = subset(@arguments);
    is("$run->{exit} $run->{err}", "1 klr-subset: $message\n", $message);
}
$run = run([ 'sh', '-c', 'ulimit -f 1 && exec "$@"', 'sh', 'tools/klr-subset',
        'heart_scale', 200, "$dir/old" ]);
is("$run->{exit} $run->{err}",
    "1 klr-subset: $dir/old: cannot write: File too large\n",
    'a subset beyond the limit of files');
is(subset('heart_scale', 9, "$dir/no/x")->{err},
    "klr-subset: $dir/no/x: cannot write: No such file or directory\n",
    'no folder');
is(subset('heart_scale', 9, @$_)->{err},
    "klr-subset: : cannot write: Is a directory\n", 'an empty name')
    for [''], [ "$dir/x", '' ];
is(get("$dir/old"), "old\n", 'an old file stays');
is(join(' ', glob "$dir/.klr*"), '', 'and nothing else is left');
is(subset('heart_scale', $_)->{exit}, 2, "size $_: wrong usage")
    for qw(0 -1 x 1.5);
is(subset('heart_scale', 3, "$dir/x", "$dir/x")->{exit}, 2,
    'one file for both');
my $kept = put("$dir/kept", "1 1:1\n2 1:2\n3 1:3\n");
for my $files ([$kept], ["$dir/./kept"], ['-', $kept]) {
    is(subset($kept, 3, @$files)->{exit}, 2, "the data in place of @$files");
}
for my $command ('"$1" 3 >>"$1"', '- 3 "$1" <"$1"') {
    is(run([ 'sh', '-c', "ulimit -f 2; tools/klr-subset $command", 'sh',
        $kept ])->{exit}, 2, "the data by the name of a stream: $command");
}
is(get($kept), "1 1:1\n2 1:2\n3 1:3\n", 'stay');
is(subset($kept, 3, ('/dev/null') x 2)->{exit}, 0, 'a device twice');
is(subset(put("$dir/compressed", "BZh91AY&SY\n"), 1)->{err},
    "klr-subset: compressed: this is compressed by bzip2: read - behind "
        . "'bzip2 -dc FILE |'\n", 'compressed data');
is(check('', "$dir/none")->{err},
    "klr-check: $dir/none: No such file or directory\n",
        'klr-check of no file');
SKIP: {
    skip 'no /dev/full', 4 unless -w '/dev/full';
    for my $command ([qw(klr-check heart_scale)],
        [qw(klr-subset heart_scale 9)],
        map { [ $_, '--help' ] } qw(klr-check klr-subset)) {
        $run = run([ "tools/$command->[0]", @$command[ 1 .. $#$command ] ],
            stdout_file => '/dev/full');
        like("$run->{exit} $run->{err}",
            qr/\A1 $command->[0]: stdout: cannot write: No space left on/,
            "@$command on a full disk");
    }
}
SKIP: {
    my @mounted = ('unshare', '-m', 'sh', '-c', 'mount --bind "$1" "$2" || exit'
            . ' 77; shift 2; exec "$@"', 'sh', put("$dir/below", "x\n" x 99),
        put("$dir/a \\ name", "hidden\n"));
    skip 'no mount: not root', 2 if run([ @mounted, 'true' ])->{exit};
    $run = run([ @mounted, 'tools/klr-subset', 'heart_scale', 90,
            "$dir/a \\ name" ]);
    is("$run->{exit} $run->{err}", '0 ', 'a file that is a mount');
    is(get("$dir/below"), join('', @subset), 'is written as it is');
}
for my $tool (qw(klr-check klr-subset)) {
    $run = run([ "tools/$tool", '--help' ]);
    like("$run->{exit}$run->{out}", qr/\A0usage: $tool .*--help/s,
        "$tool --help");
}

# ---- Signals ----

# The rest goes into a pipe that nobody reads: the subset is open, and waits.
mkfifo("$dir/pipe", 0600) or die "mkfifo: $!";
for my $signal ([ 'HUP', 129 ], [ 'INT', 130 ], [ 'QUIT', 131 ],
    [ 'ALRM', 142 ], [ 'TERM', 143 ])
{
    my ($name, $exit) = @$signal;
    $run = start([ 'tools/klr-subset', 'heart_scale', 9, "$dir/old",
            "$dir/pipe" ]);
    ok(wait_until($run, sub { () = glob "$dir/.klr*" }),
        "SIG$name: a file is begun");
    kill $name, $run->{pid};
    finish($run);
    is("$run->{exit} $run->{err}", "$exit klr-subset: interrupted\n",
        "SIG$name: how it ends");
    is(join(' ', glob "$dir/.klr*"), '', "SIG$name: nothing is left");
}
is(get("$dir/old"), "old\n", 'an old file stays');

# While Python still imports what a tool needs, or what its run needs.
mkdir "$dir/modules" or die "mkdir: $!";
for my $module (qw(argparse contextlib)) {
    my $fake = put("$dir/modules/$module.py",
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n");
    for my $tool (qw(klr-check klr-csv klr-info klr-subset klr-grid klr-plot)) {
        my $run = run([ "tools/$tool", 'x' ],
            env => { PYTHONPATH => "$dir/modules" });
        is("$run->{exit} $run->{err}", '130 ',
            "$tool: an interrupt amidst the imports");
    }
    unlink $fake;
}
put("$dir/modules/subprocess.py",
    "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n");
$run = run([ 'tools/klr-grid', '-v', 3, '-c', '1,10', 'heart_scale' ],
    env => { PYTHONPATH => "$dir/modules" });
is("$run->{exit} $run->{err}", "130 klr-grid: interrupted\n",
    'klr-grid: one amidst those of its run');

# ---- Closed streams ----

for my $tool (qw(klr-check klr-subset klr-grid klr-plot)) {
    for my $closed ('<&-', '>&-') {
        my $run = run([ 'sh', '-c', "tools/$tool heart_scale $closed" ]);
        is("$run->{exit} $run->{err}",
            "1 $tool: stdin or stdout is closed\n", "$tool $closed");
    }
}

done_testing();
