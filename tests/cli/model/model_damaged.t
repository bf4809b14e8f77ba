# SPDX-License-Identifier: BSD-3-Clause
#
# What is said of damaged models, and that nothing is written then. Each case
# is a good model with one edit.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $good = <<'MODEL';
svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 4
rho 0.1 0.2 0.3
label 1 2 3
probA -1 -1 -1
probB 0 0 0
nr_sv 2 1 1
SV
1 0.5 1:0.5 3:1
0.25 -0.5 1:-0.5 2:1
-1.25 1 2:0.5
-0.5 -0.5 1:1
klr_format 1
model klr
solver smo
status converged
eps 0.001
cost 1
gap 1e-07
iterations 12
sv_indices 1 4 2 3
end
MODEL

# The lines of the good model.
sub line { return (split /\n/, $good)[ $_[0] - 1 ] . "\n" }

# Edits, each from a text to a text.
sub to   { my ($n, $new) = @_; my $old = line($n);
    return sub { $_[0] =~ s/^\Q$old\E/$new/m or die "line $n" } }
sub with { my ($from, $to) = @_;
    return sub { $_[0] =~ s/$from/$to/ or die $from } }
sub cut  { my ($text) = @_;
    return sub { $_[0] =~ s/\Q$text\E.*//s or die $text } }
sub own { my ($multiclass, $more) = @_; # what LIBSVM's type has not
    return sub { $_[0] =~ s/c_svc/klr/;
                 $_[0] =~ s/^rho/multiclass $multiclass\nrho/m;
                 $_[0] =~ s/^nr_sv/${more}nr_sv/m } }
sub libsvm { my ($edit) = @_; # without our own section
    return sub { $_[0] =~ s/^klr_format.*//ms or die; $edit->($_[0]) } }

# With these names in place of labels, in line 8.
sub named { my ($names) = @_;
    return sub { own('ovo', '')->($_[0]);
                 $_[0] =~ s/^label.*/names$names/m or die } }

# With a scaling: our own type, and its keys on lines 26 to 30.
my %scaling = (scaling => 'minmax', scaling_limits => '-1 1',
    scaling_index => '1 3', scaling_from => '0 -2', scaling_to => '1 7.5');
sub scaled { my (%change) = @_;
    return sub { own('ovo', '')->($_[0]);
                 my %key = (%scaling, %change);
                 my $lines = join '', map { "$_ $key{$_}\n" }
                     grep { defined $key{$_} }
                     map {"scaling$_"} '', qw(_limits _index _from _to);
                 $_[0] =~ s/^end/${lines}end/m } }

my $foreign = ': not a model of klr-train or svm-train';

my @cases = (
    # the header, line by line
    [ to(1, "svm_type one_class\n"),
        "1:10: svm_type 'one_class' is not supported here; known: c_svc klr"
            . ' nu_svc' ],
    [ to(1, "svm_type epsilon_svr\n"),
        "1:10: svm_type 'epsilon_svr' is not supported here; known: c_svc"
            . ' klr nu_svc' ],
    [ to(1, "solver_type L2R_LR\n"),
        "1:1: unknown key 'solver_type'$foreign" ],
    [ to(1, "svm_type\n"),
        "1:9: the value of svm_type is missing at the end of the line" ],
    [ to(1, ''), "10: key 'svm_type' is missing before this line" ],
    [ to(1, "svm_type klr\n"),
        "11: key 'multiclass' is missing before this line" ],
    [ to(6, "multiclass ova\n" . line(6)),
        "6:1: key 'multiclass' needs svm_type klr" ],
    [ to(6, line(6) . "link gaussian\n"),
        "7:1: key 'link' needs svm_type klr" ],
    [ to(9, line(9) . "probC 0 0 0\n"),
        "10:1: key 'probC' needs svm_type klr" ],
    [ own('ovo', "probC 0 0 0\n"),
        "11:1: key 'probC' needs another link than logistic" ],
    [ own('all', ''), "6:12: multiclass 'all' is not supported here; known: ovo"
        . ' ova ddag softmax' ],
    [ to(7, "names a b c\n"), "7:1: key 'names' needs svm_type klr" ],
    [ named(" a b c\nlabel 1 2 3"),
        "8:1: keys 'label' and 'names' exclude each other" ],
    [ named(''), '8:7: names has 0 values, nr_class 3 needs 3' ],
    [ named(' a b'), '8:7: names has 2 values, nr_class 3 needs 3' ],
    [ named(' a b c d'), '8:7: names has 4 values, nr_class 3 needs 3' ],
    [ named(' a b a'), "8:11: name 'a' is repeated" ],
    [ named(' a b:c d'), "8:9: 'b:c' is not a name" ],
    [ named(' a b,c d'), "8:9: 'b,c' is not a name" ],
    [ named(' a #b c'), "8:9: '#b' is not a name" ],
    [ named(" a b\x01 c"), "8:9: 'b\\x01' is not a name" ],
    [ named(" a \xff c"), "8:9: '\\xFF' is not a name" ],
    [ named(" a b\0 c"), "8:9: 'b\\x00' is not a name" ],
    [ named(" a b c\nnames a b c"), "9:1: key 'names' is repeated" ],
    [ own('ovo', "link gaussian\n"),
        "13: key 'probC' is missing before this line" ],
    [ own('ovo', "link gaussian\nprobC 1 2\n"),
        "12:7: probC has 2 values, nr_class 3 needs 3" ],
    [ own('ovo', "link logit\n"), "11:6: link 'logit' is not supported here; "
        . 'known: logistic consistent gaussian' ],
    [ own('ova', ''), "13:7: '1:0.5': not a number" ],
    [ to(2, "kernel_type gaussian\n"),
        "2:13: kernel_type 'gaussian' is not supported here; known: linear"
        . " polynomial rbf sigmoid precomputed laplacian exponential" ],
    [ to(2, ''), "10: key 'kernel_type' is missing before this line" ],
    [ to(2, "kernel_type polynomial\n"),
        "11: key 'degree' is missing before this line" ],
    [ to(2, "kernel_type sigmoid\n"),
        "11: key 'coef0' is missing before this line" ],
    [ to(2, "kernel_type polynomial\ndegree 2147483648\ncoef0 0\n"),
        "3:8: degree is too large" ],
    [ to(2, "kernel_type polynomial\ndegree -2\ncoef0 0\n"),
        "3:8: '-2' is not a count" ],
    [ to(3, ''), "10: key 'gamma' is missing before this line" ],
    [ to(3, "gamma -1\n"), "3:7: gamma must not be below 0" ],
    [ to(3, "gamma nan\n"), "3:7: 'nan': not a finite number" ],
    [ to(3, "gamma 1e999\n"), "3:7: '1e999': number out of range" ],
    [ to(3, "gamma 0.5x\n"), "3:7: '0.5x': not a number" ],
    [ to(3, "gamma 0.5 1\n"), "3:11: unexpected '1' at the end of the line" ],
    [ to(3, "gamma 0.5\ngamma 0.5\n"), "4:1: key 'gamma' is repeated" ],
    [ to(3, "\ngamma 0.5\n"), "3: a line of the model is blank" ],
    [ to(3, "gamma 0.5\nprob_density_marks 1 2\n"),
        "4:1: unknown key 'prob_density_marks'" ],
    [ to(4, "nr_class -3\n"), "4:10: '-3' is not a count" ],
    [ to(4, "nr_class 3.0\n"), "4:10: '3.0' is not a count" ],
    [ to(4, "nr_class 1\n"),
        "4:10: nr_class is 1: a classifier has at least 2" ],
    [ to(4, "nr_class 2\n"), "7:7: label has 3 values, nr_class 2 needs 2" ],
    [ to(4, "nr_class 4000000000\n"),
        "7:7: label has 3 values, nr_class 4000000000 needs 4000000000" ],
    [ to(4, "nr_class 99999999999999999999\n"),
        "4:10: '99999999999999999999' is out of range" ],
    [ to(5, "total_sv 5\n"), "10:7: nr_sv adds up to 4, total_sv is 5" ],
    [ to(5, "total_sv 3\n"), "10:7: nr_sv adds up to more than total_sv 3" ],
    [ to(6, "rho 0.1 0.2\n"), "6:5: rho has 2 values, nr_class 3 needs 3" ],
    [ to(6, "rho 0.1 0.2 x\n"), "6:13: 'x': not a number" ],
    [ to(6, "rho 0.1 -inf 1\n"), "6:9: '-inf': not a finite number" ],
    [ to(7, "label 1 2 1\n"), "7:7: label 1 is repeated" ],
    [ to(7, "label 1 2 inf\n"), "7:11: 'inf': not a finite number" ],
    [ to(8, "probA -1 -1\n"), "8:7: probA has 2 values, nr_class 3 needs 3" ],
    [ to(8, ''), "10: key 'probA' is missing before this line" ],
    [ to(9, ''), "10: key 'probB' is missing before this line" ],
    [ to(10, "nr_sv 2 1\n"), "10:7: nr_sv has 2 values, nr_class 3 needs 3" ],
    [ to(10, "nr_sv 2 -1 3\n"), "10:9: '-1' is not a count" ],
    [ to(10, "nr_sv 18446744073709551615 1 1\n"),
        "10:7: '18446744073709551615' is out of range" ],
    [ to(10, "nr_sv 4294967294 3 3\n"),
        "10:7: nr_sv adds up to more than total_sv 4" ],
    [ to(11, "SV 4\n"), "11:4: unexpected '4' at the end of the line" ],
    [ to(11, ''), "11:1: unknown key '1'" ],

    # support vectors
    [ to(12, "1\n"), "12:2: a coefficient is missing at the end of the line" ],
    [ to(12, "\n"), "12:1: a coefficient is missing at the end of the line" ],
    [ to(12, "1 1:0.5 3:1\n"), "12:3: '1:0.5': not a number" ],
    [ to(12, "nan 0.5 1:0.5\n"), "12:1: 'nan': not a finite number" ],
    [ to(12, "1 0.5 0.5 1:0.5\n"),
        "12:7: feature '0.5': not index:value" ],
    [ to(12, "1 0.5 3:1 1:0.5\n"),
        "12:11: feature '1:0.5': index after 3, but indices must ascend" ],
    [ to(12, "1 0.5 1:1 1:0.5\n"), "12:11: feature '1:0.5': repeated index" ],
    [ to(12, "1 0.5 0:1 0:0.5\n"), "12:11: feature '0:0.5': repeated index" ],
    [ to(12, "1 0.5 -1:1\n"), "12:7: feature '-1:1': negative index" ],
    [ to(12, "1 0.5 2147483648:1\n"),
        "12:7: feature '2147483648:1': the index is beyond 2147483647" ],
    [ to(12, "1 0.5 1: 3:1\n"), "12:7: feature '1:': missing value" ],
    [ to(12, "1 0.5 1:0x1p3\n"),
        "12:7: feature '1:0x1p3': hexadecimal numbers are not read" ],
    [ to(12, '1 ' . '9' x 100 . "x 1:1\n"),
        "12:3: '" . '9' x 58 . "...': not a number" ],
    [ to(12, "1 0.5 \x01\xff\n"),
        "12:7: feature '\\x01\\xFF': not index:value" ],
    [ to(12, "1 0.5 1:1\0\n"),
        "12:7: token '1:1\\x00': a NUL byte; is this a binary or UTF-16"
            . ' file?' ],
    [ to(12, "1 0.5 1:1 # comment\n"),
        "12:11: unexpected '#' at the end of the line" ],
    [ to(12, "1 0.5 1:1# comment\n"),
        "12:10: unexpected '#' at the end of the line" ],
    [ to(12, "1 0.5# 1:1\n"), "12:3: '0.5#': not a number" ],
    [ to(15, ''), "15:1: 'klr_format': not a number" ],
    [ to(15, line(15) . line(15)),
        "16:1: unexpected '-0.5' after the last support vector" ],
    [ with(qr/rbf/, 'precomputed'),
        "12: a support vector of a precomputed kernel must be 0:serial alone" ],
    [ sub { $_[0] =~ s/rbf/precomputed/;
            $_[0] =~ s/\Q${\line(12)}\E/1 0.5 0:1.5\n/ },
        "12:7: '0:1.5' is not a serial number from 1" ],

    # our own section
    [ to(16, "klr_format 2\n"),
        "16:12: format 2 is not known to this version, which reads format 1" ],
    [ to(17, "model gp\n"),
        "17:7: model 'gp' is not supported here; known: klr sklr svm"
        . ' kfd ivm lhalf' ],
    [ to(17, ''), "24: key 'model' is missing before this line" ],
    [ to(17, "model sklr\n"), "25: key 'lambda' is missing before this line" ],
    [ to(17, "model sklr\nlambda 0.1\n"),
        "26: key 'box' is missing before this line" ],
    [ to(17, "model sklr\nlambda -0.1\nbox 0\n"),
        "18:8: it must not be below 0" ],
    [ to(17, "model sklr\nlambda 0\nbox -1\n"),
        "19:5: it must not be below 0" ],
    [ to(17, "model klr\nbias 2\n"),
        "18:6: bias '2' is not supported here; known: 0 1" ],
    [ to(23, "iterations many\n"), "23:12: 'many' is not a count" ],
    [ to(24, "sv_indices 1 4 2\n"),
        "24:12: sv_indices has 3 values, total_sv 4 needs 4" ],
    [ to(24, "sv_indices 1 0 2 3\n"),
        "24:12: sv_indices are counted from 1" ],
    [ to(24, "feature_names a b\n"),
        "24:15: they are 2, but there is a feature 3" ],
    [ to(24, "feature_names a b a\n"), "24:19: name 'a' is repeated" ],
    [ to(24, "feature_names a b c,d\n"), "24:19: 'c,d' is not a name" ],
    [ to(24, "gamma 1\n"), "24:1: unknown key 'gamma'" ],
    [ to(25, "end\nend\n"), "26:1: unexpected 'end' after the line 'end'" ],
    [ to(25, "end 1\n"), "25:5: unexpected '1' at the end of the line" ],

    # scalings
    [ to(25, "scaling standard\nscaling_index\nscaling_from\nscaling_to\n"
            . "end\n"),
        "25:1: key 'scaling' needs svm_type klr" ],
    [ sub { scaled()->($_[0]);
            $_[0] =~ s/kernel_type rbf/kernel_type precomputed/;
            $_[0] =~ s/ 1:0.5 3:1$| 1:-0.5 2:1$| 2:0.5$| 1:1$/ 0:1/mg },
        "26:1: key 'scaling' needs features" ],
    [ scaled(scaling => 'log'),
        "26:9: scaling 'log' is not supported here; known:"
        . ' minmax standard' ],
    [ scaled(scaling => undef),
        "30: key 'scaling' is missing before this line" ],
    [ scaled(scaling_limits => undef),
        "30: key 'scaling_limits' is missing before this line" ],
    [ scaled(scaling_index => undef),
        "30: key 'scaling_index' is missing before this line" ],
    [ scaled(scaling_to => undef),
        "30: key 'scaling_to' is missing before this line" ],
    [ scaled(scaling_limits => '-1 1 2'),
        '27:16: they are a lower and an upper limit' ],
    [ scaled(scaling_limits => '1 1'),
        '27:16: they are a lower and an upper limit' ],
    [ scaled(scaling_index => '1 3 4'),
        '29:14: scaling_from has 2 values, scaling_index 3 needs 3' ],
    [ scaled(scaling_to => '1'),
        '30:12: scaling_to has 1 value, scaling_index 2 needs 2' ],
    [ scaled(scaling_index => '-1 3'), "28:15: '-1' is not a count" ],
    [ scaled(scaling_index => '1 2147483648'),
        '28:15: indices are from 0 to 2147483647' ],
    [ scaled(scaling_index => '0 0'), '28:15: indices must ascend' ],
    [ scaled(scaling_index => '3 3'), '28:15: indices must ascend' ],
    [ scaled(scaling_index => '1 3.0'), "28:17: '3.0' is not a count" ],
    [ scaled(scaling_from => '0 7.5'),
        '30:12: feature 3: the maximum is not above the minimum' ],
    [ scaled(scaling => 'standard', scaling_limits => undef,
        scaling_to => '0 1'),
        '29:12: feature 1: the deviation is not above 0' ],

    # cut off
    [ sub { $_[0] = '' }, " the file ends before its line 'SV'" ],
    [ cut("rho"), "5: the file ends before its line 'SV'" ],
    [ cut("-1.25 1"), "13: the file ends after 2 of 4 support vectors" ],
    [ cut(":1\nklr_format"),
        "15:11: feature '1': not index:value" ],
    [ cut("sv_indices"), "23: the file ends before its line 'end'" ],
    [ cut("\nend\n"), "24: the file ends before its line 'end'" ],
    [ libsvm(with(qr/\n\z/, '')),
        "15: the file ends within a line: it may be truncated" ],
    [ sub { scaled()->($_[0]); cut("klr_format")->($_[0]) },
        "16: the file ends before its line 'klr_format'" ],
    [ libsvm(with(qr/\z/, "1 1 1:1\n")),
        "16:1: unexpected '1' after the last support vector" ],

    # other files
    [ sub { $_[0] = "1 1:0.5 2:1\n-1 1:1\n" },
        "1:1: unknown key '1'$foreign" ],
    [ sub { $_[0] = "\x7fELF\2\1\1\0\0\0" },
        "1:1: unknown key '\\x7FELF\\x02\\x01\\x01\\x00\\x00\\x00'"
            . $foreign ],
    [ sub { $_[0] = "\xff\xfes\0v\0" },
        "1:1: this is UTF-16 or UTF-32 text: convert it to UTF-8" ],
);

my $dir = scratch();
put("$dir/test", "1 1:0.5\n2 1:-1\n3\n");

# What must be read: the model as it is, with CRLF, in another order.
for my $case (
    [ 'as it is', sub { } ],
    [ 'with CRLF', sub { $_[0] =~ s/\n/\r\n/g } ],
    [ 'with tabs', sub { $_[0] =~ s/ /\t/g } ],
    [ 'with blanks at line ends', sub { $_[0] =~ s/\n/ \n/g } ],
    [ 'with a byte order mark', sub { $_[0] =~ s/^/\xef\xbb\xbf/ } ],
    [ 'with blank lines behind', sub { $_[0] .= "\n \n" } ],
    [ 'without the last line feed', sub { $_[0] =~ s/\n\z// } ],
    [ 'with a header in another order',
        sub { $_[0] =~ s/(gamma.*\n)((?:.*\n){6})/$2$1/ or die } ],
    [ 'a sparse one', to(17, "model sklr\nlambda 0.1\nbox 0\nbias 0\n") ],
    [ 'one with a scaling',
        scaled(scaling_limits => '0 1', scaling_index => '1 2',
            scaling_from => '0 0', scaling_to => '1 1') ],
    [ 'one with limits of no use', scaled(scaling => 'standard',
            scaling_index => '1 2', scaling_from => '0 0',
            scaling_to => '1 1') ],
    [ "as LIBSVM's", libsvm(sub { }) ],
    [ 'one with names', named(' one 2 +1'), "+1\n2\n2\n" ],
    [ 'without probabilities', libsvm(sub { $_[0] =~ s/prob.*\n//g }),
        "2\n2\n2\n" ],
    )
{
    my ($name, $edit, $labels) = (@$case, "3\n2\n2\n");
    my $text = $good;
    $edit->($text);
    put("$dir/model", $text);
    my $run = run([ 'klr-predict', '-b', 0, "$dir/test", "$dir/model" ]);
    is("$run->{exit} $run->{out}", "0 $labels", "accepted $name")
        or diag($run->{err});
}

put("$dir/output", "old\n");
for my $case (@cases) {
    my ($edit, $message) = @$case;
    my $text = $good;
    $edit->($text);
    put("$dir/model", $text);
    my $run = run([ 'klr-predict', 'test', 'model', 'output' ], cwd => $dir);
    $message = " $message" if $message !~ /^ /;
    $message =~ s/^ (?=\d)//;
    is("$run->{exit} $run->{err}$run->{out}",
        "1 klr-predict: model:$message\n", $message =~ s/[^ -~]/?/gr);
}
is(get("$dir/output"), "old\n", 'no predictions were touched');
is(join(' ', sort map { s{.*/}{}r } glob "$dir/* $dir/.klr*"),
    'model output test', 'nothing is left behind');

# Prefixes of the good model are refused, but for the whole of LIBSVM's part.
my $accepted = '';
for my $length (0 .. length($good) - 2) {
    next if $length % 3 && $length < length($good) - 250;
    put("$dir/model", substr $good, 0, $length);
    my $run = run([ 'klr-predict', 'test', 'model', 'output' ], cwd => $dir);
    $accepted .= "$length " if $run->{exit} != 1;
}
is($accepted, index($good, 'klr_format') . ' ',
    'which is the only prefix accepted');

done_testing();
