# SPDX-License-Identifier: BSD-3-Clause
#
# klr-train --scale: against files scaled by klr-scale, byte by byte, and
# against the definition; what LIBSVM makes of such models, and refusals.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use List::Util qw(max min sum);
use KLR;

my $dir = scratch();

# Feature 3 never changes, 2 is rare, 5 only in the test set, 2000 far away.
srand 11;
my (@train, @test);
for my $i (1 .. 150) {
    my $y = $i % 3 ? -1 : 1;
    my $row = sprintf '%+d 1:%.6g%s 3:7 4:%.5g%s', $y, 30 + 8 * $y + rand 40,
        rand() < 0.2 ? sprintf(' 2:%.4g', rand(5) - 1) : '',
        1e-3 * (1 + rand() + 0.2 * $y), rand() < 0.5 ? ' 2000:' . int rand 9
            : '';
    push @train, "$row\n" if $i % 5;
    push @test, $row =~ s/ 4:/ 4:1/r =~ s/( 2000:.*)?$/ 5:1.5 2000:11\n/r
        if $i % 5 == 0;
}
put("$dir/train", join '', @train);
put("$dir/test", join '', @test);
put("$dir/heart", get('heart_scale'));

sub quiet
{
    my $run = run([ map { split } @_ ], cwd => $dir);
    is($run->{exit}, 0, "@_") or diag($run->{err});
    return $run;
}

# Files as klr-scale --exact makes them.
my %option = (minmax => '-l -1 -u 1', standard => '--standardize');
for my $how (keys %option) {
    for my $data ('train', 'heart') {
        put("$dir/$data.$how",
            quiet("klr-scale --exact $option{$how} -s range $data")
            ->{out});
        put("$dir/test.$how", quiet('klr-scale --exact -r range test')->{out})
            if $data eq 'train';
    }
}

# A model without what only one of both has: its type and its scaling, and
# blanks at the ends of lines.
sub bare
{
    my ($text) = @_;
    $text =~ s/^(svm_type|multiclass|scaling\w*).*\n//mg;
    $text = of_any_origin($text);
    return $text =~ s/ +$//mgr;
}

# ---- As scaled before ----

for my $options ('-s klr', '-s klr -t linear -c 10', '-s svm -b 1', '-s sklr',
    '-s kfd', '-s ivm', '-t polynomial -d 2', '-s klr --sv-indices',
    '-s svm --multiclass ova')
{
    for my $how (sort keys %option) {
        quiet("klr-train -q $options train.$how before");
        quiet("klr-train -q $options --scale $how train within");
        my ($before, $within) = map { get("$dir/$_") } 'before', 'within';
        is(bare($within), bare($before), "$how: the same coefficients");
        like($within, qr/^svm_type klr\n/, 'of our own type');
        quiet("klr-predict -q test.$how before before.out");
        quiet("klr-predict -q test within within.out");
        is(get("$dir/within.out"), get("$dir/before.out"), 'and predictions');
    }
}
for my $how (sort keys %option) {
    for my $options ('-v 5', '-v 5 -c 0.1,1,10 -g 0.01,0.1',
        '-v 3 -s svm -b 1') {
        my ($before, $within) = map {
            quiet("klr-train -q $options --cv-out $_ m")
                ->{out} . get("$dir/cv") }
            "cv train.$how", "cv --scale $how train";
        is($within, $before, "$how: validation");
    }
    my ($before, $within) = map { quiet("klr-train --check-kernel $_")->{out} }
        "train.$how", "--scale $how train";
    is($within, $before, "$how: the kernel matrix");
    my $stdin = run([ 'klr-train', '-q', '--scale', $how, '-', 'm' ],
        cwd => $dir,
        stdin => get("$dir/train"));
    is($stdin->{exit}, 0, "$how: from stdin");
    quiet("klr-train -q --scale $how train within");
    is(get("$dir/m"), get("$dir/within"), "$how: the same model");
    quiet("klr-train -q -c 0.1,1 --scale $how train path");
    quiet("klr-train -q -c 1 --scale $how train one");
    like(get("$dir/path.0.1"), qr/^scaling $how$/m, "$how: along a path");
}
quiet('klr-train -q train m');
quiet('klr-train -q --scale none train none');
is(get("$dir/none"), get("$dir/m"), 'none is the default');

# ---- By definition ----

# The columns of the training set, missing values being 0.
sub column
{
    my ($index) = @_;
    return map { / \Q$index\E:(\S+)/ ? $1 + 0 : 0 } @train;
}
{
    my %within;
    for my $how (sort keys %option) {
        quiet("klr-train -q --scale $how --sv-indices train within");
        my $text = get("$dir/within");
        $within{$how} = { $text =~ /^(scaling\w*|sv_indices) (.*)$/mg };
        $within{$how}{rows} = [ (split /^SV\n|^klr_format.*/ms, $text)[1]
            =~ /^(.*)$/mg ];
    }
    is($within{minmax}{scaling_limits}, '-1 1', 'limits');
    for my $how (sort keys %option) {
        is($within{$how}{scaling_index}, '1 2 4 2000', "$how: what changes");
        my @from = split ' ', $within{$how}{scaling_from};
        my @to = split ' ', $within{$how}{scaling_to};
        for my $c (0 .. 3) {
            my $index = (1, 2, 4, 2000)[$c];
            my @value = column($index);
            my $mean = sum(@value) / @value;
            my $deviation = sqrt sum(map { ($_ - $mean)**2 } @value) / @value;
            my ($low, $high) = $how eq 'minmax' ? (min(@value), max(@value))
                : ($mean, $deviation);
            cmp_ok(abs($from[$c] - $low), '<=', 1e-14 * abs $low,
                "$index: from");
            cmp_ok(abs($to[$c] - $high), '<=', 1e-14 * $high, "$index: to");
            my @rows = split ' ', $within{$how}{sv_indices};
            my $most = 0;
            for my $sv (0 .. $#rows) {
                my ($got) = $within{$how}{rows}[$sv] =~ / \Q$index\E:(\S+)/;
                my $v = $value[ $rows[$sv] - 1 ];
                my $expected = $how eq 'minmax'
                    ? -1 + 2 * ($v - $low) / ($high - $low)
                    : ($v - $mean) / $deviation;
                $most = max $most, abs(($got // 0) - $expected);
            }
            is(scalar @rows, scalar @train, 'all rows are support vectors');
            cmp_ok($most, '<', 1e-12, "$how $index: the support vectors");
        }
    }
}

# ---- Odd sets ----

put("$dir/flat", "1 1:3\n-1 1:3\n" x 4);
quiet('klr-train -q --scale minmax flat m');
is(get("$dir/m") =~ s/.*^(scaling_index.*)^end.*/$1/msr,
    "scaling_index\nscaling_from\nscaling_to\n",
    'nothing changes: no features');
like(quiet('klr-predict -q flat m')->{out},
    qr/\Alabels 1 -1\n(-?1 0\.5 0\.5\n){8}\z/,
    'and nothing is known');
put("$dir/wide", "1 1:-1.7e308\n-1 1:1.7e308\n1 1:-1e308\n-1 1:1e308\n");
put("$dir/narrow", "1 1:-1e-300\n-1 1:1e-300\n" x 2);
quiet('klr-train -q --scale minmax wide m');
for my $values ('wide', 'narrow') {
    quiet("klr-train -q --scale standard $values m");
    like(get("$dir/m"), qr/^scaling_index 1$/m,
        "a deviation of $values values");
}
put("$dir/tiny", "1 1:0\n-1 1:1e-300\n" x 2);
quiet('klr-train -q --scale minmax tiny m');
put("$dir/large", "1 1:1e-300\n# none\n1 1:1e200\n");
my $large = run([ qw(klr-predict large m) ], cwd => $dir);
is("$large->{exit} $large->{err}",
    '1 klr-predict: large:3: feature 1: the value'
    . " 1e+200 is scaled out of range\n", 'a value beyond all range');

# More rows than a block has.
put("$dir/many", join '', (@test) x 60);
quiet('klr-train -q --scale standard train m');
my @once = split /^/, quiet('klr-predict -q test m')->{out};
my @many = split /^/, quiet('klr-predict -q many m')->{out};
is(join('', @many), join('', shift @once, (@once) x 60), 'several blocks');

# ---- Other programs, refusals ----

SKIP: {
    my $peer = peer('svm-predict') or skip 'no svm-predict', 1;
    my $run = run([ $peer, 'test', 'm', 'out' ], cwd => $dir);
    isnt($run->{exit}, 0, 'LIBSVM refuses a model with a scaling');
}
for my $case (
    [ 'option --scale: a precomputed kernel has no features',
        '--scale minmax -t precomputed heart' ],
    [ "option --scale: 'log' is not one of none, minmax, standard, auto",
        '--scale log heart' ],
)
{
    my ($message, $arguments) = @$case;
    my $run = run([ 'klr-train', split ' ', $arguments ], cwd => $dir);
    is("$run->{exit} $run->{err}", "2 klr-train: $message\n", $message);
}

# Rare features become dense, and a system that grants any memory would end the
# process as it is used.
put("$dir/rare", join '', map { $_ % 2 . " $_:1\n" } 1 .. 400_000);
for my $how (qw(standard minmax)) {
    my $run = run([ qw(klr-train -q -t linear --scale), $how, "$dir/rare",
        "$dir/m" ]);
    is($run->{exit}, 1, "rare features, $how: exit status");
    like($run->{err}, qr/ scaling makes other values of the zeros of 400000 features, /,
        "rare features, $how: message");
}
my $rows = join '', map { $_ % 2 . " $_:1\n" } 1 .. 20;
put("$dir/sparse", $rows);
put("$dir/full", $rows =~ s/(\d+):1/join ' ', map { "$_:" . ($_ == $1) } 1 .. 20/ger);
for my $how (qw(none standard minmax)) {
    my ($sparse, $full) = map { run([ qw(klr-train -t linear --scale), $how,
        "$dir/$_", "$dir/m" ])->{err} } qw(sparse full);
    my $told = qr/zeros are scaled too: 20 values before, 400 after; /;
    ($how eq 'none' ? \&unlike : \&like)->($sparse, $told, "$how: zeros");
    unlike($full, $told, "$how: values that were given");
}

done_testing();
