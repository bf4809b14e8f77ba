# SPDX-License-Identifier: BSD-3-Clause
#
# klr-csv: the examples and the map that it makes of a table, the tables that a
# map fits, and those that it refuses.
use strict;
use warnings;
use lib 'tests/cli/lib';
use IO::Handle ();
use POSIX qw(mkfifo);
use Test::More;
use Churn;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();

sub csv { return run([ 'tools/klr-csv', @_[ 1 .. $#_ ] ], stdin => $_[0]) }

# Examples of a table, or the complaint about it.
sub examples
{
    my ($table, @option) = @_;
    my $run = csv($table, '-q', @option, '-');
    return $run->{exit} ? $run->{err} =~ s/^klr-csv: (?:stdin:? ?)?//r
        : $run->{out};
}

# ---- Cells ----

my $run = csv(<<'END', '--rare', 2, '-l', 'y', '-n', "$dir/names", '-');
n,when,"kind of, it",constant,id,y
1,2020-01-02,a,5,u,yes
 2.50 ,1970-01-01,"b ""x""",5,v,no
,1970-01-02T12:00,a,5,w,yes
-1e1,1969-12-31,rare,5,x,"not,sure"
0,1970-01-01 06:00:00.0+06:00,,5,y,yes
7,1970-01-01 23:30-00:30,"b ""x""",5,z,
3,,"in
two lines",5,"",no
END
is($run->{out}, <<'END', 'numbers, dates and categories');
yes 1:1 3:18263 5:1
no 1:2.50 6:1
yes 1:-0.7 2:1 3:1.5 5:1
not_sure 1:-1e1 3:-1 6:1
yes 7:1
no 1:3 3:3652.7 4:1 6:1
END
is($run->{err}, <<'END', 'columns that tell nothing are left out, by name');
klr-csv: stdin: column 'kind of, it' is taken for a category: of 5 cells, 3 have texts of less than 2 rows each, which are one feature (--rare)
klr-csv: stdin: column 'constant' is left out: it is always '5'
klr-csv: stdin: column 'id' is left out: it has 5 different texts, 'u' the first, none of them in 2 rows (--rare)
klr-csv: stdin: 6 rows, 7 features of 3 columns; labels are names (--string-labels); without a label: 1 row
END
is(get("$dir/names"), <<'END', 'names of features');
n
n=missing
when
when=missing
kind_of__it=a
kind_of__it=other
kind_of__it=missing
END

for my $case (
    [ 'eight numbers of ten are categories', join('', map { ($_ % 2) . ' '
        . ($_ < 8 ? 1 : 2) . ":1\n" } 0 .. 9), join('', "a,y\n", map {
        ($_ < 8 ? 3 : 'x') . ',' . $_ % 2 . "\n" } 0 .. 9), '--rare', 1 ],
    [ 'blanks, any number', "1 1:2 2:-1\n2 1:3 2:1\n",
        "  a   b y\n  2\t -1   1 \n3 1 2\n" ],
    [ 'a separator that spreadsheets name', "1 1:2 2:-1\n2 1:3 2:1\n",
        "sep=|\na|b|y\n2|-1|1\n3|1|2\n" ],
    [ 'blanks within cells', "1 1:2\n2 1:3\n", "a b c,y\n2,1\n3,2\n" ],
    [ 'a separator that divides rows as it does the header',
        "1 1:2\n2 1:3\n", "a, b|y\n2|1\n3|2\n" ],
    [ 'semicolons and decimal commas are found', "1 1:1.5 2:2\n2 1:-2,5 2:3\n",
        "a;b;y\n1,5;2;1\n-2,5;3;2\n" ],
    [ 'tabs, a byte order mark, carriage returns, blank lines',
        "1 1:1\n2 1:2\n", "\xef\xbb\xbfa\ty\r\n1\t1\r\n\r\n2\t2" ],
    [ 'separator and mark are given', "1 1:1,5 2:2\n2 1:2,5 2:3\n",
        "a b y\n1,5 2 1\n2,5 3 2\n", '--separator', ' ', '--decimal', ',' ],
    [ 'the label by number', "3 1:1\n4 1:2\n", "a,b\n1,3\n2,4\n", '-l', 2 ],
    [ 'a column is left out', "3 1:1\n4 1:2\n", "z,a,y\n5,1,3\n6,2,4\n",
        '-x', 'z' ],
    [ 'numbers that only name something', "3 1:1\n4 2:1\n3 1:1\n",
        "a,y\n10,3\n20,4\n10,3\n", '--category', 'a', '--rare', 1 ],
    [ 'the day comes first, as one date tells', "1 1:18293\n2 1:18305\n",
        "d,y\n01/02/2020,1\n13/02/2020,2\n" ],
    [ 'the month comes first', "1 1:18264\n2 1:18294\n",
        "d,y\n01/03/2020,1\n02/02/2020,2\n", '--dates', 'mdy' ],
    [ 'a text for missing values', "1 1:4\n2 1:4 2:1\n",
        "a,y\n4,1\n-9,2\n", '--missing', -9 ],
    [ 'names of rows', "1 1:1 # u\n2 1:2 # v w\n",
        "i,a,y\nu,1,1\n v  w,2,2\n", '--id', 'i', '-x', 'i' ],
    [ 'characters that are not seen, in labels',
        "_u_ 1:1\nu 1:2\n\xc3\xa9 1:3\n",
        "a,y\n1,\xef\xbb\xbfu\xe2\x80\x8b\n2,u\n3,\xc3\xa9\n" ],
    [ 'columns without a name', "1 1:1\n2 1:2\n", ",y\n1,1\n2,2\n" ])
{
    my ($name, $wanted, $table, @option) = @$case;
    @option = ('-l', 'y', @option) unless "@option" =~ /-l/;
    is(examples($table, @option), $wanted =~ s/(\d),(\d)/$1.$2/gr, $name);
}

# ---- Tables without a header ----

my $headless = "5.1,3.5,a\n4.9,3,b\n";
is(csv($headless, '-q', '-l', 3, '--no-header', '-s', "$dir/headless", '-')->{out},
    "a 1:5.1 2:3.5\nb 1:4.9 2:3\n", 'the first row is one');
is(csv("1,2,a\n3,4\n5,6,b\n", '-r', "$dir/headless", '-')->{err},
    "klr-csv: stdin:2: 2 cells, but the header has 3\n", 'lines count from it');
is(csv("1,2\n", '-q', '-r', "$dir/headless", '-')->{out}, " 1:1 2:2\n",
    'the map says so');
my $numbers = "klr-csv: stdin: the header is of numbers: --no-header, if it is an "
    . "example\n";
for my $case ([ $headless, 3, $numbers ], [ "1,2.5\n3,4\n5,6\n", 2, $numbers ],
    [ "0,1,y\n1,2,a\n2,1,b\n", 'y', '' ], [ "a,1,y\n1,2,a\n2,1,b\n", 'y', '' ])
{
    my ($table, $label, $wanted) = @$case;
    is(csv($table, '-l', $label, '-')->{err} =~ s/^klr-csv: stdin: (?!the header).*\n//mgr,
        $wanted, 'numbers in a header: ' . $table =~ s/\n.*//sr);
}

# ---- Tables that are refused ----

for my $case (
    [ 'no header', '' ],
    [ "there is no column 'y'; there are 'a', 'b'", "a,b\n1,2\n" ],
    [ "there is no column '3'; there are 'a', 'y'", "a,y\n1,2\n", '-x', 3 ],
    [ "there is no column 'y'; there are 'a', 'b', 'c', 'd', 'e' and 2 more",
        "a,b,c,d,e,f,g\n" ],
    [ "there is no column 'y'; the header is one cell, 'a:y': --separator",
        "a:y\n1:2\n" ],
    [ '2: 3 cells, but the header has 2: has its first column no name?',
        "a,y\n1,2,3\n" ],
    [ '2: 3 cells, but the header has 2', "a,y\n1,2,\n" ],
    [ '1: a carriage return within a line: end lines as Unix or Windows does',
        "a,y\r1,2\r" ],
    [ '1: a carriage return within a line: end lines as Unix or Windows does',
        "a,y\rb\n1,2\n" ],
    [ 'this is a workbook or an archive: save its sheet as CSV', "PK\3\4\0" ],
    [ "two columns are called 'a'", "a,a,y\n" ],
    [ 'no row has a label', "a,y\n1,\n" ],
    [ 'no column is left', "a,y\n1,0\n2,1\n", '-x', 'a' ],
    [ '3: 1 cell, but the header has 2', "a,y\n1,2\n1\n" ],
    [ '3: unexpected end of data: is a quote not closed?', "a,y\n1,2\n\"1,2\n" ],
    [ "column 'y': 2 labels would be called 'a_b'", "a,y\n1,a b\n2,a:b\n" ],
    [ "column 'd': dates have the day or the month first: --dates dmy or "
            . '--dates mdy', "d,y\n1.2.2020,1\n2.1.2020,2\n" ],
    [ "13: column 'a': 'x' is no number, unlike 10 other cells: --missing, "
            . '--category or --leave-out',
        join('', "a,y\n", map({"$_,1\n"} 0 .. 9), "?,1\nx,1\n") ],
    [ 'this is UTF-16 or UTF-32 text: convert it to UTF-8', "\xff\xfea\0" ])
{
    my ($message, $table, @option) = @$case;
    is(examples($table, '-l', 'y', @option), "$message\n", $message);
}

# Rows of numbers that are read together are strays among dates.
my $dates = join '', map { "$_,1\n" } ('20200102') x 512, ('2020-01-02') x 9000;
is(examples("d,y\n$dates", '-l', 'y'),
    "2: column 'd': '20200102' is no date, unlike 9000 other cells: --missing, "
        . "--category or --leave-out\n", 'a block of numbers among dates');

# Numbers with a unit or marks of thousands, which are not those of decimals.
for my $case ([ '1200', '$1,200' ], [ '-3.5', '-3.5 %' ], [ '-0.5', '£-.50' ],
    [ '1234567.5', "1'234'567.5" ], [ '20000', "20\x{c2}\x{a0}000" ],
    [ '1234.5', '1.234,5 €', '--decimal', ',' ], [ '12', '12‰' ], [ '7', '₹7' ],
    [ '1234.5', '1.234,5 €' ], [ '-12.5', '-€12,5' ], [ '1234567', '1.234.567' ],
    [ '1234567', '1,234,567' ], [ '1234', '$1,234' ], [ '1.234', '1,234' ],
    [ '2000', '2e3 %' ], [ '84.9', '84,9 mg' ], [ '-3', '-3°C' ],
    [ '1234.5', "1'234.50 kg/m\xc2\xb2" ], [ '1500', '1,500 EUR' ],
    [ '5', '5yr' ])
{
    my ($value, $cell, @option) = @$case;
    is(examples(qq(a\ty\n$cell\t1\n0\t0\n), '-l', 'y', @option),
        "1 1:$value\n0\n", "$cell is $value");
}
# Numbers that are read together may have powers of ten, amounts among them, too.
my $large = join '', map { "1e$_,1\n" } (1 .. 9) x 80;
like(examples("a,y\n${large}\"1,234\",0\n0%,0\n", '-l', 'y'),
    qr/^1 1:10\n.*\n0 1:1234\n0\n\z/s, 'powers of ten among amounts');
is(examples("a,y\n0%,1\n0,0\n0%,0\n", '-l', 'y'), "1\n0\n0\n",
    'nothing has any unit');
is(examples("a,y\n5 °C,1\n0 °C,0\n0,0\n", '-l', 'y'), "1 1:5\n0\n0\n",
    '0 has a unit, or none');
my $units = join '', map {"$_,1\n"} '1 g', map {"$_ mg"} 1 .. 12;
is(examples("a,y\n$units", '-l', 'y'), "2: column 'a': '1 g' is no number in "
        . "mg, unlike 12 other cells: --missing, --category or --leave-out\n",
    'the unit of most cells is that of the column');
for my $cells ([qw(1st 2nd 3rd 4th)], [qw(A1 A2)], [ '1 2mg', '2 2mg' ],
    [qw(1q1 1q2)], [ '0 g', '2 mg' ])
{
    like(csv("a,y\n" . join('', map {"$_,1\n"} @$cells), '-l', 'y', '--rare', 1,
            '-')->{out}, qr/^1 1:1\n1 2:1\n/, "@$cells are no numbers");
}
# Many numbers, which are a category if there are texts, too, before or after.
my @parts = (join('', map {"$_,1\n"} (1 .. 600) x 2),
    join('', map {"t$_,0\n"} (1 .. 300) x 2));
my @maps = map {
    csv("a,y\n$_", qw(-q -l y --rare 2 -s), "$dir/levels", '-');
    get("$dir/levels");
} join('', @parts), join('', reverse @parts);
is($maps[0], $maps[1], 'levels in any order');
is(() = $maps[0] =~ /^    "t?[0-9]+": [0-9]+,?$/mg, 900, 'all of them');

for my $cell ('1,00', '10,0000', "1,234'567", '$5%', '+-5', '1e500', '$', '5 m s',
    '7_mg') {
    like(csv("a\ty\n$cell\t1\n$cell\t0\nz\t1\n", '-l', 'y', '--rare', 1,
            '--decimal', '.', '-')->{out},
        qr/^1 ([12]):1\n0 \1:1\n1 (?!\1)[12]:1\n\z/, "$cell is no number");
}
for my $case ([ '2%', 'number in $', '$1', '$2' ], [ '$1', 'number', "1'000", 1 ],
    [ '0 °F', 'number in °C', '1 °C', '-2°C' ])
{
    my ($stray, $what, @usual) = @$case;
    is(examples(join('', "a,y\n", map {"$_,1\n"} (@usual) x 10, $stray),
            '-l', 'y'), "22: column 'a': '$stray' is no $what, unlike 20 other "
            . "cells: --missing, --category or --leave-out\n",
        "$stray is no $what");
    put("$dir/amounts", join '', "a,y\n", map {"$_,1\n"} @usual);
    run([ qw(tools/klr-csv -q -l y -s), "$dir/amounts.map", "$dir/amounts" ]);
    is(examples("a,y\n$usual[0],1\n$stray,1\n", '-r', "$dir/amounts.map"),
        "3: column 'a': '$stray' is no $what\n", '... by the map, too');
}

# Times of day, in hours.
for my $case ([ '9.5', '09:30' ], [ '9.5', '9:30:00' ], [ '23.999722', '23:59:59' ],
    [ '0.5', '12:30 am' ], [ '12.25', '12:15 PM' ], [ '18.1', '6:06p.m.' ],
    [ '0.000139', '0:00:00.5' ])
{
    my ($value, $cell) = @$case;
    is(examples("a,y\n$cell,1\n0:00,0\n", '-l', 'y'), "1 1:$value\n0\n",
        "$cell is $value");
}
for my $cell ('24:00', '13:00 pm', '0:30 am', '9:60', '9:30:60', '9:5', '125:30') {
    is(examples(join('', "a,y\n", map {"$_,1\n"} ('9:30') x 20, $cell), '-l',
            'y'), "22: column 'a': '$cell' is no time, unlike 20 other cells: "
            . "--missing, --category or --leave-out\n", "$cell is no time");
}

# Warnings of numbers that may only name something.
sub suspicions
{
    my ($option, @cells) = @_;
    my $table = join '', "a\ty\n", map { "$cells[$_]\t" . $_ % 2 . "\n" }
        0 .. $#cells;
    return csv($table, qw(-q -l y), @$option, '-')->{err};
}
my $grows = "klr-csv: stdin: column 'a' grows from row to row: --leave-out, if"
    . " it only numbers the rows\n";
is(suspicions([], 101 .. 110), $grows, 'numbers of the rows');
is(suspicions([], map { 3 * $_ + 7 } 1 .. 2000), $grows, '... in steps');
is(suspicions([], @$_), '', 'not of ' . join ' ', splice @$_, 0, 9)
    for [ 101 .. 109 ], [ 1 .. 20, 20 ], [ map { $_ + 0.5 } 1 .. 20 ],
    [ map {"\$$_"} 1 .. 20 ], [ 1 .. 600, 1 .. 600 ],
    [ reverse(1 .. 600), reverse 1 .. 600 ], [ 1 .. 20, reverse 1 .. 19 ];
is(suspicions([], reverse 1 .. 2000), $grows =~ s/grows/falls/r,
    'numbers of the rows, the last first');
my $codes = "klr-csv: stdin: column 'a' has numbers like 0123: --category, if"
    . " these are codes\n";
is(suspicions([], ('0123', 7, 45) x 10), $codes, 'numbers with a 0 in front');
is(suspicions([qw(--category a)], ('0123', 7, 45) x 10), '', 'a category');
is(suspicions([], (0, 0.5, '0.25', '-0.1', '0e3') x 4), '', 'numbers near 0');

# Warnings of a column that is taken for a category.
sub doubts { return csv($_[0], '-l', 'y', '--rare', 2, @_[ 1 .. $#_ ], '-')->{err} }

my $half = "a,y\n1,1\n2,0\nunknown,1\nunknown,0\n";
for my $case (
    [ "stdin:4: %s 'unknown' is no number, unlike 2 other cells: --missing, or",
        $half ],
    [ "stdin:3: %s 'no' is no date, unlike 1 other cell: --missing, or",
        "a,y\n2020-01-02,0\nno,1\nno,0\n" ],
    [ "stdin:4: %s '10 %%' is no number in \$, unlike 2 other cells: --missing,",
        "a,y\n\$1,1\n\$2,0\n10 %,1\n20 %,0\n" ],
    [ "stdin:4: %s 'p' is no number, unlike 2 other cells: --missing, or",
        "a,x,y\n1,1,1\n2,2,0\np,1,1\nq,2,0\n" ],
    [ 'stdin: %s of 5 cells, 3 have texts of less than 2 rows each, which are '
            . 'one feature (--rare)', "a,y\nu,1\nv,0\nw,0\nx,0\nx,1\n" ])
{
    my ($message, $table) = @$case;
    $message = sprintf $message, "column 'a' is taken for a category:";
    like(doubts($table), qr/^klr-csv: \Q$message\E/, $message);
    unlike(doubts($table, '--category', 'a'), qr/is taken/, 'as was said');
}
for my $usage ([], [ '-l', 'y', '-r', 'map' ], [ '-r', 'map', '-x', 'a' ],
    [ '-r', 'map', '--no-header' ],
    [ '-l', 'y', '--separator', 'ab' ], [ '-l', 'y', '--rare', 0 ])
{
    is(csv("a,y\n1,2\n", @$usage, '-')->{exit}, 2, "wrong usage: @$usage");
}
like(csv("a,y\n1,2\n", qw(-l y -r map -))->{err}, qr/map applies one, and learns/,
    '--label with --map: the reason');

# ---- A map ----

my @table = churn_table(6000);
my $table = put("$dir/churn.csv", join '', @table);
is(join('', (churn_table(1000))), get('examples/churn.csv'), 'examples/churn.csv');
my ($map, $names) = ("$dir/map", "$dir/names");
$run = csv('', '-l', 'left', '-s', $map, '-n', $names, $table, "$dir/data");
is("$run->{exit}$run->{out}", '0', 'a table of 6000 rows') or diag($run->{err});
my @rows = split /^/, get("$dir/data");
is(scalar @rows, 6000, 'is as many examples');
is(run([ 'tools/klr-check', '-q', '--string-labels', "$dir/data" ])->{out}, '',
    'which klr-check finds right');

sub apply { return csv(join('', @_), '-q', '-r', $map, '-') }

$run = apply(@table);
is($run->{out}, join('', @rows), 'its map makes the same of it');
is(csv(join('', @table), '-q', '-l', 'left', '-')->{out}, join('', @rows),
    'and so does a pipe that is learnt from');

# Cells of the table that hold no quote, one by one.
my @plain = grep { !/"/ } @table[ 0 .. 50 ];
my @cells = map { chomp; [ split /,/, $_, -1 ] } @plain;
my @known = split /^/, apply(map {"$_\n"} @plain)->{out};
sub columns { return map { join(',', @$_) . "\n" } @{ $_[0] } }

my @turned = map { [ @$_[ 7, 3, 2, 1, 6, 5, 4 ], 1 ] } @cells;
$turned[0][-1] = 'new';
$run = apply(columns(\@turned));
is($run->{out}, join('', @known), 'columns in another order, and another one')
    or diag($run->{err});

$run = apply(columns([ map { [ @$_[ 0 .. 6 ] ] } @cells ]));
is($run->{out}, join('', map {s/^\S+//r} @known), 'without labels');

$run = apply(columns([ map { [ @$_[ 0 .. 3, 5 .. 7 ] ] } @cells ]));
is("$run->{exit} $run->{err}",
    "1 klr-csv: stdin: column 'age' is missing\n", 'without a column');

$run = apply($plain[0] . "\n", "C9,2020-01-02,gold,nowhere,30,9,1,yes\n" x 2);
is($run->{out}, join('', ("yes 1:18263 10:30 12:9 13:1\n") x 2),
    'new categories are none of those that are known');
is($run->{err}, join('', map {"klr-csv: stdin: column $_ the first\n"}
    "'plan': 2 values that the map lacks, 'gold'",
    "'place': 2 values that the map lacks, 'nowhere'"), 'and are counted');

my @bad = ("C9,2020-01-02,plus,north,old,9,1,yes\n",
    "C9,2020-13-02,plus,north,30,9,1,yes\n", "C9,2020-01-02\n");
my @why = ("3: column 'age': 'old' is no number",
    "3: column 'joined': '2020-13-02' is no date",
    '3: 2 cells, but the header has 8');
for my $i (0 .. 2) {
    $run = apply("$plain[0]\n$plain[1]\n", $bad[$i]);
    is("$run->{exit} $run->{err}", "1 klr-csv: stdin:$why[$i]\n", $why[$i]);
}
$run = csv(join('', "$plain[0]\n", map { ("$plain[1]\n", $_) } @bad), '-q',
    '-r', $map, '--keep-going', '--id', 'customer', '-');
my ($named) = $plain[1] =~ /^(\w+)/;
is("$run->{exit} $run->{out}", '1 ' . ($known[0] =~ s/$/ # $named/mr
    . "? ? # C9\n") x 3, '--keep-going');
is($run->{err}, join('', map {
    my $line = 2 * $_ + 3;
    "klr-csv: stdin:" . $why[$_] =~ s/^3/$line/r . "\n"
} 0 .. 2), 'and each is named');

# A row is answered before the next one is there.
mkfifo("$dir/pipe", 0600) or die "mkfifo: $!";
$run = start([ 'tools/klr-csv', '-q', '-r', $map, '-' ],
    stdin_file => "$dir/pipe");
open my $pipe, '>', "$dir/pipe" or die $!;
$pipe->autoflush(1);
for my $i (1, 2) {
    print $pipe $i == 1 ? "$plain[0]\n" : '', "$plain[$i]\n";
    ok(wait_until($run, sub { -e $run->{out_file}
        && get($run->{out_file}) eq join('', @known[ 0 .. $i - 1 ]) }),
        "row $i of a pipe");
}
close $pipe;
is(finish($run)->{exit}, 0, 'its end');

for my $case ([ 'not a map of klr-csv', '{', '[]', '{"klr_csv": 1}',
    get($map) =~ s/"index": 1,?//r, get($map) =~ s/"mean": [\d.]+/"mean": "x"/r,
    get($map) =~ s/"features": \[.*?\]/"features": [1]/sr,
    get($map) =~ s/"features"/"other"/r, get($map) =~ s/"separator": "\K/,,/r,
    get($map) =~ s/"index": /"index": 1e999, "other": /r,
    get($map) =~ s/"kind": "\w+"/"kind": "length"/r ],
    [ 'a map of version 2, but this program reads version 1',
        get($map) =~ s/"klr_csv": 1/"klr_csv": 2/r ])
{
    my ($why, @text) = @$case;
    for my $text (@text) {
        put("$dir/bad", $text);
        $run = csv('', '-r', "$dir/bad", $table);
        like("$run->{exit} $run->{err}", qr/^1 klr-csv: \S*bad: $why\n\z/,
            "refused: " . substr $text, 0, 20);
    }
}
is(csv('', '-r', $map, $table, $_)->{exit}, 2, 'nothing that is read is replaced')
    for $map, $table;

# A reader that goes is no failure.
$run = run([ 'sh', '-c', '{ tools/klr-csv -q -r "$1" "$2"; echo $? >&2; } | '
        . 'head -c 1 >/dev/null', 'sh', $map, $table ]);
is($run->{err}, "141\n", 'it ends quietly');

done_testing();
