#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Files that must be read, whatever tool or editor wrote them. Each is a
# spelling of known examples: the model must be the one of the plain spelling,
# apart from the text of its features, which is copied from the file.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Cwd qw(abs_path);
use KLR;
use Test::More;

my @rows = map { [$_ % 2 ? 1 : -1, $_ / 4, ($_ * 7 % 5) - 2] } 1 .. 12;
my $plain = join '', map { "$_->[0] 1:$_->[1] 2:$_->[2]\n" } @rows;

# The model without the text of its features: every number but those.
sub trained
{
    my ($what, $text, @options) = @_;
    my $dir = scratch();
    put("$dir/f", $text);
    my $run = run(['klr-train', '-g', '0.5', @options, 'f', 'm'], cwd => $dir);
    is($run->{exit}, 0, "$what: exit status");
    return ($run, '') if !-f "$dir/m";
    my ($header, $vectors) = split /^SV\n/m, get("$dir/m");
    return ($run, $header . join "\n", map { (split ' ')[0] }
            split /\n/, $vectors);
}

my (undef, $expected) = trained('plain', $plain);
like($expected, qr/^total_sv 12$/m, 'plain: all examples are in the model');
like($expected, qr/^label 1 -1$/m, 'plain: labels');

sub reformat
{
    my ($format) = @_;
    return join '', map { sprintf $format, @$_ } @rows;
}

my $huge = 2**31 - 1;
my @files = (
    ['CRLF', $plain =~ s/\n/\r\n/gr],
    ['a byte order mark', "\xef\xbb\xbf$plain"],
    ['no line feed at the end', $plain =~ s/\n\z//r],
    ['no line feed at the end, CRLF', $plain =~ s/\n/\r\n/gr =~ s/\r\n\z//r],
    ['blank lines', "\n \n" . $plain =~ s/\n/\n\n\t\n/gr],
    ['comments', "# head\n  # and more\n" . $plain =~ s/\n/ # 3:4\n/gr],
    ['a comment without a blank before it', $plain =~ s/\n/#1:1\n/gr],
    ['tabs', $plain =~ tr/ /\t/r],
    ['several blanks, also at the end', $plain =~ s/ /  \t /gr =~ s/\n/ \n/gr],
    ['leading blanks', $plain =~ s/^/  \t/gmr],
    ['labels with a sign', reformat("%+d 1:%g 2:%g\n")],
    ['labels as decimals', reformat("%.3f 1:%g 2:%g\n")],
    ['labels with exponents', reformat("%.1e 1:%g 2:%g\n")],
    ['values with exponents', reformat("%d 1:%.6e 2:%.3E\n")],
    ['values with a sign', reformat("%d 1:%+g 2:%+g\n")],
    ['values with many digits', reformat("%d 1:%.40f 2:%.30f\n")],
    ['indices with leading zeros', reformat("%d 001:%g 00002:%g\n")],
    ['values of 0 written out', reformat("%d 1:%g 2:%g 3:0 4:0.0 5:-0\n")],
    ['NUMBER. and .NUMBER', $plain =~ s/:(-?)(\d+)(?=\s)/:$1$2./gr
            =~ s/:0\.(?=\d)/:./gr],
);
for my $file (@files) {
    my ($what, $text) = @$file;
    my ($run, $model) = trained($what, $text);
    is($model, $expected, "$what: the same model");
}

# The largest index: gamma is given, so that the number of features is free.
{
    my ($run, $model) = trained('a huge index',
        reformat("%d 1:%g $huge:%g\n"));
    is($model, $expected, 'a huge index: the same model');
}
# Query ids are passed over, once with a warning.
{
    my ($run, $model) = trained('qid', reformat("%d qid:7 1:%g 2:%g\n"));
    is($model, $expected, 'qid: the same model');
    is(() = $run->{err} =~ /^klr-train: warning: f: qid is ignored$/mg, 1,
        'qid: one warning');
}
# A row without features is the zero vector.
{
    my ($run, $model) = trained('rows of a label only',
        "1\n-1 1:2\n1 # nothing\n-1 1:3\n");
    like($model, qr/^total_sv 3$/m, 'rows of a label only: two are one');
    my (undef, $same) = trained('rows of zeros',
        "1 1:0\n-1 1:2\n1 1:0\n-1 1:3\n");
    is($model, $same, 'rows of a label only are zeros');
}
# Labels that are no integers stay what they are.
{
    my ($run, $model) = trained('fractions as labels',
        reformat("%d.5 1:%g 2:%g\n"));
    like($model, qr/^label 1\.5 -1\.5$/m, 'fractions as labels: the model');
}
# Labels are numbers: 1, +1, 1.0 and 1e0 are one class.
{
    my @spelling = ('1', '+1', '1.0', '1e0');
    my $i = 0;
    my $text = join '', map {
        ($_->[0] > 0 ? $spelling[$i++ % 4] : '-1') . " 1:$_->[1] 2:$_->[2]\n"
    } @rows;
    my (undef, $model) = trained('one label in four spellings', $text);
    is($model, $expected, 'one label in four spellings: the same model');
}
# So are 0 and -0, whichever comes first.
for my $zero ('0', '-0', '-0.0') {
    my ($run, $model) = trained("a label $zero",
        "$zero 1:1\n1 1:2\n0 1:0.5\n-0 1:0.25\n1 1:3\n");
    like($model, qr/^label 1 0$/m, "a label $zero: the model has 0");
}
# More than two classes, ascending.
{
    my ($run, $model) = trained('three classes',
        join '', map { $_ % 3 . " 1:$_\n" } 1 .. 12);
    like($model, qr/^label 0 1 2$/m, 'three classes: labels');
}
# A precomputed kernel: 0:serial, then row i of K.
{
    my $text = '';
    for my $i (0 .. $#rows) {
        my @k = map {
            my $j = $_;
            exp(-0.5 * (($rows[$i][1] - $rows[$j][1])**2
                    + ($rows[$i][2] - $rows[$j][2])**2));
        } 0 .. $#rows;
        $text .= "$rows[$i][0] 0:" . ($i + 1)
            . join('', map { sprintf ' %d:%.17g', $_ + 1, $k[$_] } 0 .. $#k)
            . "\n";
    }
    my ($run, $model) = trained('a precomputed kernel', $text, '-t', '4');
    my ($rho) = $model =~ /^rho (\S+)$/m;
    my ($expected_rho) = $expected =~ /^rho (\S+)$/m;
    cmp_ok(abs($rho - $expected_rho), '<', 1e-5,
        'a precomputed kernel: the same threshold');
}
# stdin, from a file and from a pipe.
{
    my $dir = scratch();
    put("$dir/f", $plain);
    run(['klr-train', 'f', 'expected'], cwd => $dir);
    my $run = run(['klr-train', '-', 'm'], cwd => $dir, stdin => $plain);
    is($run->{exit}, 0, 'stdin: exit status');
    is(get("$dir/m"), get("$dir/expected"), 'stdin: the same model');
    $run = run([ 'sh', '-c', 'cat f | "$0" - p', abs_path(bin('klr-train')) ],
        cwd => $dir);
    is($run->{exit}, 0, 'a pipe: exit status');
    is(get("$dir/p"), get("$dir/expected"), 'a pipe: the same model');
    put("$dir/-f", $plain);
    $run = run(['klr-train', '--', '-f', 'o'], cwd => $dir);
    is(get("$dir/o"), get("$dir/expected"), 'operands behind --');
}

done_testing();
