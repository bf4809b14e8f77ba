# SPDX-License-Identifier: BSD-3-Clause
#
# klr-scale: what it writes, its range files, stdin and stdout, what it refuses;
# byte for byte against svm-scale where that is installed (tests/long/scale_long.t
# does the same for every data set in $KLR_DATA).
use strict;
use warnings;
use lib 'tests/cli/lib';
use POSIX 'mkfifo';
use Test::More;
use KLR;
use SvmScale;

my $dir = scratch();

my $data = put("$dir/data", <<'END');
1 1:1 2:5 3:7 5:0.333333333333
-1 1:3 2:5 4:-2
+2.5 1:2.123456789 2:5 3:0
END

# Runs klr-scale; `name`, options, then the expected output.
sub scales
{
    my ($name, $options, $out, %more) = @_;
    my $run = run([ 'klr-scale', @$options ], %more);
    is($run->{exit}, 0, "$name: exit status") or diag($run->{err});
    is($run->{out}, $out, "$name: output");
    is($run->{err}, $more{err} // '', "$name: messages");
    return $run;
}

# Runs it to see it fail with exactly this message and nothing on stdout.
sub refuses
{
    my ($options, $exit, $message, %more) = @_;
    my $run = run([ 'klr-scale', @$options ], %more);
    $run->{err} =~ s/\Q$dir\E/DIR/g;
    is($run->{err}, "klr-scale: $message\n", $message);
    is($run->{exit}, $exit, "  exits $exit");
    is($run->{out}, '', '  writes nothing');
}

# ---- What is written ----

my $scaled = <<'END';
1 1:-1 3:1 4:1 5:1 
-1 1:1 3:-1 4:-1 5:-1 
2.5 1:0.123457 3:-1 4:1 5:-1 
END
scales('defaults', [$data], $scaled);
scales('limits', [ '-l', 0, '-u', '100', $data ], <<'END');
1 3:100 4:100 5:100 
-1 1:100 
2.5 1:56.1728 4:100 
END
scales('labels', [ qw(-y -1 1 --lower=0 --upper 1), $data ], <<'END');
0.14285714285714279 3:1 4:1 5:1 
-1 1:1 
1 1:0.561728 4:1 
END
scales('round-trip digits', [ '-l', 0, '--exact', $data ], <<'END');
1 3:1 4:1 5:1 
-1 1:1 
2.5 1:0.5617283945 4:1 
END
scales('exact limits', [ qw(-l 0.1 -u 0.9 -y 0.1 0.9 --exact), $data ],
    <<'END');
0.55714285714285716 1:0.1 3:0.9 4:0.9 5:0.9 
0.1 1:0.9 3:0.1 4:0.1 5:0.1 
0.9 1:0.54938271560000007 3:0.1 4:0.9 5:0.1 
END
scales('single precision limits', [ qw(-l 0 -y 0.1 0.9), $data ], <<'END');
0.55714284415755955 3:1 4:1 5:1 
0.10000000149011612 1:1 
0.89999997615814209 1:0.561728 4:1 
END
my $standard = put("$dir/standard", <<'END');
1 1:2 2:1
1 1:4 2:1
2 1:4 2:1 3:2
2 1:4 2:1
3 1:5 2:1
3 1:5 2:1
4 1:7 2:1
4 1:9 2:1 3:2
END
scales('standardised', [ '--standardize', $standard ], <<'END');
1 1:-1.5 3:-0.57735 
1 1:-0.5 3:-0.57735 
2 1:-0.5 3:1.73205 
2 1:-0.5 3:-0.57735 
3 3:-0.57735 
3 3:-0.57735 
4 1:1 3:-0.57735 
4 1:2 3:1.73205 
END
scales('one row', ['-'], "1 \n", stdin => "1 1:5\n");
scales('numbers near the ends of double', [ '-', '-l', '-1', '--exact' ],
    <<'END', stdin => <<'INPUT');
1 1:-1 2:1 
2 1:1 2:-1 
3 1:0.5 2:-1 
END
1 1:-1.5e308 2:4e-324
2 1:1.5e308
3 1:0.75e308
INPUT
scales('limits at the ends of double', [ qw(-l -1e308 -u 1e308 -) ], <<'END',
1 1:-1e+308 
2 1:1e+308 
3 1:-5e+307 
END
    stdin => "1 1:2\n2 1:6\n3 1:3\n");
my $input = "\xEF\xBB\xBF# head\r\n1 qid:3 1:1\r\n\r\n2\t1:2 # x\r\n3 1:1.5";
scales('all that is accepted', ['-'], "1 1:-1 \n2 1:1 \n3 \n",
    stdin => $input,
    err => "klr-scale: warning: query ids (qid:) are left out\n");
scales('one feature', ['-'], "1 1:1 \n2 1:-1 \n", stdin => "1 1:1\n2\n");
scales('rows without label', [ '--unlabelled', '-' ], "1:-1 \n3 1:1 \n",
    stdin => "1:1\n3 1:2\n");

# ---- stdin, stdout ----

scales('stdin from a file', ['-'], $scaled, stdin_file => $data);
{
    my $program = bin('klr-scale');
    my $text = `cat '$data' | '$program' - 2>'$dir/err' | cat`;
    is($text, $scaled, 'a pipe is kept for the second pass');
    my $many = join('', map { "1 1:$_ 2:@{[ $_ * $_ ]}\n" } 1 .. 100000);
    put("$dir/many", $many);
    $text = `cat '$dir/many' | '$program' - | md5sum`;
    is($text, `'$program' '$dir/many' | md5sum`, 'so is a long one');
    mkfifo("$dir/$_", 0600) || die $! for 'first', 'second';
    my $run = start([ 'klr-scale', '-s', "$dir/first", "$dir/many" ],
        stdout_file => "$dir/second");
    open my $second, '<', "$dir/second" or die $!;
    is(get("$dir/first"), "x\n-1 1\n1 1 100000\n2 1 10000000000\n",
        'a pipe has all ranges before data');
    is(scalar(() = <$second>), 100000, 'which follow');
    is(finish($run)->{exit}, 0, 'to their end');
}

# ---- Warnings ----

# A column of twelve values, and four of three: 24 before, 60 after.
my $sparse = join '', map { "1 1:$_" . ($_ > 9
            ? ' ' . join(' ', map { "$_:1" } 2 .. 5) : '') . "\n" } 1 .. 12;
for my $case ([ '', '' ], [ '--standardize', ' in place of --standardize' ]) {
    my ($options, $instead) = @$case;
    my @options = split ' ', $options;
    my $says = sub {
        run([ 'klr-scale', @options, @_, '-' ], stdin => $sparse)->{err};
    };
    is($says->(), "klr-scale: warning: zeros are scaled too: 24 values before, "
            . "60 after; with -l 0$instead zeros stay zeros where no feature is "
            . "negative\n", "many zeros are scaled $options");
    is($says->('-q'), '', '-q');
}
is(run([ 'klr-scale', '-l', '0', '-' ], stdin => $sparse)->{err}, '',
    'zeros that stay zeros');
for my $case ([ 'a kernel matrix', "1 0:1 1:1 2:.5\n-1 0:2 1:.5 2:1\n", 1 ],
    [ 'features from 0 on', "1 0:1 1:1\n-1 0:3 1:2\n", 0 ])
{
    my ($name, $rows, $warns) = @$case;
    my $says = run([ 'klr-scale', '-' ], stdin => $rows)->{err};
    is($says, $warns ? 'klr-scale: warning: feature 0 is the number of the '
            . 'example: a kernel matrix, if this is one, is not to be scaled'
            . "\n" : '', "$name: a warning or none");
    is(run([ qw(klr-scale -q -) ], stdin => $rows)->{err}, '', "$name: -q");
}
is(run([ 'klr-scale', '-q', '-' ], stdin => "1 qid:1 1:1\n2 1:2\n")->{err}, '',
    '-q: no word of query ids');
for my $rows (1, 2) {
    my $told = run([ 'klr-scale', '-' ], stdin => "1 1:1\n" . "1\n" x $rows);
    is($told->{err} =~ /before, (\d+) after/ ? $1 : 0, $rows == 2 ? 3 : 0,
        'more than twice as many values: ' . ($rows + 1) . ' of 1');
}

# ---- Range files ----

my $ranges = "$dir/ranges";
scales('with -s', [ '-s', $ranges, $data ], $scaled);
is(get($ranges), <<'END', 'the range file');
x
-1 1
1 1 3
3 0 7
4 -2 0
5 0 0.33333333333300003
END
scales('with -r', [ '-r', $ranges, $data ], $scaled);
scales('other data with -r', [ '-r', $ranges, '-' ],
    "1 1:-1 3:-1 4:1 5:-1 \n-1 1:5 3:-1 4:3 5:-1 \n",
    stdin => "1 1:1 6:1 7:0\n-1 1:7 2:5 4:2\n",
    err => "klr-scale: warning: features left out because $ranges lacks them: "
        . "2, the first is 2\n");
scales('ranges from stdin', [ '-r', '-', $data ],
    "1 1:-1 \n-1 1:1 \n2.5 1:0.123457 \n",
    stdin => "x\n-1 1\n1 1 3\n",
    err => "klr-scale: warning: features left out because stdin lacks them: "
        . "3, the first is 3\n");
run([ 'klr-scale', qw(-l 0 -u 1 -y -1 1 -s), $ranges, $data ]);
is(get($ranges), <<'END', 'the range file with labels');
y
-1 1
-1 2.5
x
0 1
1 1 3
3 0 7
4 -2 0
5 0 0.33333333333300003
END
scales('labels with -r', [ '-r', $ranges, '-' ], "3 4:1 \n-1 1:1 4:1 \n",
    stdin => "6 1:1\n-1 1:3\n");
run([ 'klr-scale', '--standardize', '-s', $ranges, $standard ]);
is(get($ranges), "z\n1 5 2\n3 0.5 0.8660254037844386\n",
    'the range file of --standardize');
scales('--standardize with -r', [ '-r', $ranges, '-' ],
    "1 1:-2 3:0.57735 \n", stdin => "1 1:1 3:1\n");
put($ranges, "x \r\n\r\n0\t10\r\n 2  1 3 \r\n3 4 4\n ");
scales('a range file with other blanks', [ '-r', $ranges, '-' ],
    "1 2:5 \n2 2:10 \n", stdin => "1 2:2 3:5\n2 2:3\n");

# With -r a row leaves as soon as it came.
{
    pipe(my $from, my $to) or die $!;
    pipe(my $back, my $out) or die $!;
    my $pid = fork() // die $!;
    if (!$pid) {
        open(STDIN, '<&', $from) && open(STDOUT, '>&', $out) or exit 99;
        close $_ for $from, $to, $back, $out;
        exec bin('klr-scale'), '-r', $ranges, '-' or exit 99;
    }
    close $from;
    close $out;
    for my $value (2, 3) {
        syswrite $to, "1 2:$value\n";
        sysread $back, my $line, 100;
        is($line, '1 2:' . ($value == 2 ? 5 : 10) . " \n", 'a row at a time');
    }
    close $to;
    waitpid $pid, 0;
    is($?, 0, 'and its end');
}

# ---- Refusals ----

my $usage = 2;
refuses([ '-l', 1, '-u', 1, $data ], $usage,
    'options -l, -u: the lower limit 1 is not below the upper limit 1');
refuses([ '-l', 2, $data ], $usage,
    'options -l, -u: the lower limit 2 is not below the upper limit 1');
refuses([ qw(-y 1 0), $data ], $usage,
    'option -y: the lower limit 1 is not below the upper limit 0');
refuses([ qw(-y 1 x), $data ], $usage, "option -y: 'x' is not a number");
refuses([ '-r', 'x', '-l', 0, $data ], $usage,
    '-r and -l exclude each other');
refuses([ '-r', 'x', '-u', 2, $data ], $usage,
    '-r and -u exclude each other');
refuses([ qw(-r x -y 0 1), $data ], $usage,
    '-r and -y exclude each other');
refuses([ qw(-r x -s y), $data ], $usage,
    '-r and -s exclude each other');
refuses([ qw(-r x --standardize), $data ], $usage,
    '-r and --standardize exclude each other');
refuses([ qw(-u 3 --standardize), $data ], $usage,
    '--standardize and -u exclude each other');
refuses([ qw(-s -), $data ], $usage, 'the ranges (-s) cannot go to stdout');

refuses(["$dir/none"], 1, 'DIR/none: cannot open: No such file or directory');
refuses([$dir], 1, 'DIR: cannot read: Is a directory');
refuses(['-'], 1, 'stdin: no examples', stdin => "# x\n");
refuses([ '-r', $ranges, '-' ], 1, 'stdin: no examples', stdin => '');
refuses(['-'], 1, "stdin:2:3: feature '1:x': not a number",
    stdin => "1 1:1\n2 1:x\n");
refuses([ '--unlabelled', qw(-y 0 1 -) ], 1, 'stdin: no labels to scale',
    stdin => "1:1\n");
refuses([ '-r', "$dir/none", $data ], 1,
    'DIR/none: cannot open: No such file or directory');
{
    my $run = run([ 'klr-scale', '-s', "$dir/no/ranges", $data ]);
    is($run->{exit}, 1, 'a range file in no folder');
    like($run->{err}, qr{^klr-scale: \Q$dir\E/no/ranges: .*No such file},
        'is refused with its name');
}
put("$dir/tiny", "x\n0 1\n1 0 1e-300\n");
refuses([ '-r', "$dir/tiny", '-' ], 1,
    'stdin:1: feature 1: the value 1e+300 is scaled out of range',
    stdin => "1 1:1e300\n");
put("$dir/far", "z\n1 1e300 1e-10\n2 0 1\n3 1e300 1e-10\n");
refuses([ '-r', "$dir/far", '-' ], 1,
    'stdin:2: feature 1: the value 0 is scaled out of range',
    stdin => "1 1:1e300 2:1 3:1e300\n1 2:1 3:1e300\n");
refuses([ '-r', "$dir/far", '-' ], 1,
    'stdin:1: feature 3: the value 0 is scaled out of range',
    stdin => "1 1:1e300 2:1\n");
put("$dir/labels", "y\n0 1\n0 1e-300\nx\n0 1\n1 0 1\n");
refuses([ '-r', "$dir/labels", '-' ], 1,
    'stdin:2: the label 1e+300 is scaled out of range',
    stdin => "0 1:1\n1e300 1:1\n");

# A value that is further from the mean than any number.
is(run([ qw(klr-scale --standardize -) ],
        stdin => "1 1:1.7e308\n" . "2 1:-1.7e308\n" x 3)->{out},
    "1 1:1.73205 \n" . "2 1:-0.57735 \n" x 3, 'a distance that overflows');

# A deviation that is rounded to 2 units, where a unit is 2^1023.
{
    my @signs = split //, '-----+--+-+--+++++++';
    is(run([ qw(klr-scale --standardize -) ],
            stdin => join '', map {"1 1:${_}1.7976931348623157e308\n"} @signs)
            ->{out}, join('', map { $_ eq '+' ? "1 1:1 \n" : "1 1:-1 \n" }
                @signs), 'the largest deviation');
}

# Of features whose squares overflow or underflow, too.
for my $unit ('e0', 'e300', 'e-300') {
    is(run([ qw(klr-scale --standardize -) ],
            stdin => "1 1:1$unit\n2 1:-3$unit\n3\n4 1:2$unit\n")->{out},
        "1 1:0.534522 \n2 1:-1.60357 \n3 \n4 1:1.06904 \n",
        "deviations of numbers of 1$unit");
}

# A disk that is full.
SKIP: {
    skip '/dev/full is not there', 8 unless -c '/dev/full';
    my $run = run([ 'klr-scale', $data ], stdout_file => '/dev/full');
    is($run->{exit}, 1, 'stdout is full');
    is($run->{err}, "klr-scale: stdout: cannot write: No space left on "
            . "device\n", 'and that is said');
    $run = run([ 'klr-scale', '-s', '/dev/full', $data ]);
    is($run->{exit}, 1, 'the range file is full');
    is($run->{err}, "klr-scale: /dev/full: cannot write: No space left on "
            . "device\n", 'and that is said');
    is($run->{out}, '', 'before anything is written');
    put("$dir/old", 'old');
    $run = run([ 'klr-scale', '-s', "$dir/old", $data ],
        stdout_file => '/dev/full');
    is($run->{exit}, 1, 'a new range file, but stdout is full');
    is(get("$dir/old"), 'old', 'the old one stays');
    is_deeply([ glob "$dir/.klr-*" ], [], 'and nothing beside it');
}

# A failure leaves an old range file as it was.
put("$dir/old", 'old');
run([ 'klr-scale', '-s', "$dir/old", '-' ], stdin => "1 1:1\nx\n");
is(get("$dir/old"), 'old', 'an old range file survives a failure');

# ---- Malformed range files ----

my $cut = 'the file ends within a line: it may be truncated';
for my $case (
    [ '', "0: the file ends before the section x or z" ],
    [ "y\n0 1\n0 1\n", "3: the file ends before the section x or z" ],
    [ "w\n", "1: not a section: y, x or z" ],
    [ "\0\n", "1: not a section: y, x or z" ],
    [ "1 2 3\n", "1: not a section: y, x or z" ],
    [ "y\n0 1\n0 1\ny\n", "4: not a section: y, x or z" ],
    [ "x\n", "1: two numbers expected: lower and upper limit" ],
    [ "x\n0\n", "2: two numbers expected: lower and upper limit" ],
    [ "x\n0 1 2\n", "2: two numbers expected: lower and upper limit" ],
    [ "x\n0 inf\n", "2: two numbers expected: lower and upper limit" ],
    [ "x\n1 1\n", "2: the lower limit is not below the upper one" ],
    [ "y\n0 1\nx\n", "3: two numbers expected: least and largest label" ],
    [ "y\n0 1\n2 1\n", "3: the least label is above the largest" ],
    [ "x\n0 1\n1 2\n",
        "3: three numbers expected: a feature's index and its range" ],
    [ "x\n0 1\n1 2 3 4\n",
        "3: three numbers expected: a feature's index and its range" ],
    [ "x\n0 1\n1 nan 3\n",
        "3: three numbers expected: a feature's index and its range" ],
    [ "x\n0 1\n-1 2 3\n",
        "3: the index is not a whole number from 0 to 2147483647" ],
    [ "x\n0 1\n1.5 2 3\n",
        "3: the index is not a whole number from 0 to 2147483647" ],
    [ "x\n0 1\n2147483648 2 3\n",
        "3: the index is not a whole number from 0 to 2147483647" ],
    [ "x\n0 1\n2 0 1\n2 0 1\n", "4: indices must ascend" ],
    [ "x\n0 1\n0 0 1\n0 0 1\n", "4: indices must ascend" ],
    [ "x\n0 1\n\n2 1 0\n", "4: the minimum is above the maximum" ],
    [ "z\n2 1 0\n", "2: the deviation is not above 0" ],
    [ "x\n0 1\n1 2 3\n2 4 5", "4:6: $cut" ],
    [ "x\n0 1\n1 2 ", "3:4: $cut" ],
    [ "y\n0 1\n 0 10", "3:6: $cut" ],
    [ "y\n0 1\n0 1\nx", "4:2: $cut" ],
    [ "z\n0 1\n",
        "2: three numbers expected: a feature's index and its range" ],
) {
    my ($text, $message) = @$case;
    put("$dir/bad", $text);
    $message =~ s/^0://;
    refuses([ '-r', "$dir/bad", $data ], 1, "DIR/bad:$message");
}

# ---- Against svm-scale ----

my @options = ([], [qw(-l 0)], [qw(-l -0.37 -u 11.3 -y -1.7 2.9)]);
my $svm_scale = peer('svm-scale');
SKIP: {
    skip 'svm-scale is not installed', 12 unless $svm_scale;
    my $edges = put("$dir/edges", <<'END');
0.1 1:1e-7 2:123456789 3:-5e-320 4:1 5:-3 7:1e-5
0.1 1:0.5 2:3 3:0 4:1 5:-2 6:5
1e20 1:0.2 2:3.5 4:1 5:-1 6:-0.5 7:0.00012345678
-7.25 1:0.2000005 2:1e8 4:1 5:-2.00001 6:1.5 7:0.0001
END
    for my $file ($data, $standard, $edges) {
        compare_scaling($svm_scale, $file, @$_)
            for @options, [qw(-l -1e-30 -u 1e30)];
    }
}
SKIP: {
    my @names = qw(heart.svm diabetes.svm german.numer.svm ionosphere.svm
        sonar.svm a1a.svm splice.svm glass.svm iris.svm wdbc.svm);
    my @files = grep { defined } map { data($_) } @names;
    skip 'svm-scale is not installed', 30 unless $svm_scale;
    skip 'KLR_DATA is not set', 30 unless @files;
    for my $file (@files) {
        compare_scaling($svm_scale, $file, @$_) for @options;
    }
}

done_testing();
