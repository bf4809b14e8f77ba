# SPDX-License-Identifier: BSD-3-Clause
#
# klr-info: what it says of a model, against the model's file and against what
# klr-predict answers.
use strict;
use warnings;
use lib 'tests/cli/lib';
use List::Util qw(max sum);
use Test::More;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();

sub info { return run([ 'tools/klr-info', @_ ]) }

my $names = put("$dir/names", join '', map {"f$_\n"} 1 .. 13);
run([ qw(klr-train -q --scale standard --sv-indices -c 2 -g 0.05),
        '--feature-names', $names, 'heart_scale', "$dir/model" ]);
my $text = get("$dir/model");
my ($gap) = $text =~ /^gap (\S+)/m;
my ($iterations) = $text =~ /^iterations (\S+)/m;
my ($rho) = $text =~ /^rho (\S+)/m;
my ($hash) = $text =~ /^data ([0-9a-f]{16})$/m;
my ($version) = run([qw(klr-train --version)])->{out} =~ /(\S+)$/;
my $run = info("$dir/model");
is("$run->{exit}$run->{err}", '0', 'a model');
is($run->{out}, sprintf(<<'END', $iterations, $gap, $version, $hash,
model            klr by newton, converged after %d iterations, gap %.3g, eps 1e-06
version          %s
data             270 examples, hash %s
options          link=sigma regularizer=kernel
kernel           rbf, gamma 0.05
C                2
classes          2: 1 -1
support vectors  270: 120 150
probabilities    logistic link, A = -1, B = 0
rho              %.6g
scaling          standard, of 13 features
features         13: f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12, and 1 more
LIBSVM           does not read it
END
        $rho), 'in lines');
my $told = printed_json(info('--json', '--top', 3, "$dir/model"));
is_deeply([ @$told{qw(model gamma cost nr_sv)} ],
    [ 'klr', 0.05, 2, [ 120, 150 ] ], 'in JSON');
cmp_ok($told->{gap}, '==', $gap, 'to the last digit');

# The vectors of the largest coefficients, with their rows.
my @vectors = $text =~ /^(-?[\d.e-]+) 1:/mg;
my ($rows) = $text =~ /^sv_indices (.*)/m;
my @rows = split ' ', $rows;
my @order = (sort { abs($vectors[$b]) <=> abs($vectors[$a]) } 0 .. 269)[0 .. 2];
is_deeply([ map { [ @$_{qw(row vector)}, $_->{coefficients}[0] ] }
            @{ $told->{top} } ],
    [ map { [ $rows[$_], 1 + $_, 0 + $vectors[$_] ] } @order ], '--top');
my %features = (split /\n/, $text =~ s/.*^SV\n//msr)[ $order[0] ]
    =~ / (\d+):(\S+)/g;
is_deeply($told->{top}[0]{features},
    { map { ("f$_" => 0 + $features{$_}) } keys %features },
    'features by name');
like(info('--top', 1, "$dir/model")->{out}, qr/^ *$rows[$order[0]]  +-?1  /m,
    'in lines by the row');

# ---- How it came to be ----

sub trained
{
    run([ qw(klr-train -q), @_ ]);
    return get($_[-1]);
}

# Of the data as they were read, whatever is made of them.
my $plain = trained('heart_scale', "$dir/plain");
like($plain, qr/^data \Q$hash\E$/m, 'the hash of data, scaled or not');
for my $case ([ 'value', 's/1:0.708333/1:0.708334/' ],
    [ 'label', 's/\A\+1/-1/' ], [ 'index', 's/13:-1/14:-1/' ],
    [ 'order', 's/\A(.*\n)(.*\n)/$2$1/' ], [ 'number', 's/\A.*\n//' ])
{
    my ($what, $change) = @$case;
    local $_ = get('heart_scale');
    eval $change or die $what;
    my ($other) = trained(put("$dir/other", $_), "$dir/m")
        =~ /^data ([0-9a-f]{16})$/m;
    isnt($other, $hash, "another $what, another hash");
}
is(trained(put("$dir/same", get('heart_scale') =~ s/ / \t/gr),
        "$dir/m") =~ /^data (.*)/m && $1, $hash, 'spelling is none of it');
is(trained(qw(-j 2 -m 30), 'heart_scale', "$dir/m"), $plain,
    'the same bytes, without date and command');
put("$dir/ones", "2\n" x 270);
trained(qw(--stamp -w1 3 --seed 4 --link platt --weights), "$dir/ones",
    'heart_scale', "$dir/it's one");
my $stamped = printed_json(info('--json', "$dir/it's one"));
is_deeply($stamped->{options}, { w1 => 3, seed => 4, link => 'platt',
        regularizer => 'kernel' }, 'options as settled');
like($stamped->{weights}, qr/^[0-9a-f]{16}$/, 'a hash of the weights');
like($stamped->{date}, qr/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, '--stamp: date');
is($stamped->{command}, "klr-train -q --stamp -w1 3 --seed 4 --link platt "
        . "--weights $dir/ones heart_scale '$dir/it'\\''s one'", 'and command');
like(info("$dir/it's one")->{out}, qr/^date\ +\Q$stamped->{date}\E\n
    command\ +\Q$stamped->{command}\E\n
    data\ .*,\ weights\ $stamped->{weights}\n/mx, 'in lines');
trained(qw(--no-bias -t polynomial -d 2 -g 0.1 heart_scale), "$dir/m");
my $lines = info("$dir/m")->{out};
like($lines, qr/^kernel +polynomial, degree 2, gamma 0.1, coef0 0$/m,
    'a kernel');
like($lines, qr/^bias +none$/m, 'no bias');
is(run([ qw(klr-predict heart_scale), "$dir/it's one", '/dev/null' ])->{exit}, 0,
    'klr-predict reads it');
SKIP: {
    my $svm_predict = peer('svm-predict') or skip 'no svm-predict', 1;
    my $run = run([ $svm_predict, 'heart_scale', "$dir/it's one", '/dev/null' ]);
    like($run->{out}, qr/^Accuracy = 94/m, 'so does svm-predict');
}
put("$dir/control", get("$dir/it's one") =~ s/^command klr/command \x1Bklr/mr);
like(run([ qw(klr-predict heart_scale), "$dir/control", '/dev/null' ])->{err},
    qr/:\d+:9: .* has control characters$/m, 'no control characters');

# ---- Linear models: weights, and what follows from them ----

my $three = put("$dir/three", join '', map { my $c = $_; map { sprintf
            "%s 1:%d 3:%d\n", qw(a b c)[$c], $_ % 7 + 2 * $c,
            ($_ * $_) % 5 - $c } 1 .. 20 } 0 .. 2);
for my $option ([], [qw(--multiclass ova)], [qw(-s svm)]) {
    run([ qw(klr-train -q --string-labels -t linear), @$option, $three,
            "$dir/linear" ]);
    my $told = printed_json(info('--json', "$dir/linear"));
    my ($row) = map { [split] } split /\n/, run([ qw(klr-predict -q --decision
                --unlabelled -), "$dir/linear" ], stdin => "1:2 3:-1\n")->{out};
    my @decisions = map { my $w = $told->{weights}[$_]{weights};
        2 * $w->{1} - $w->{3} - $told->{rho}[$_] } 0 .. 2;
    cmp_ok(max(map { abs($decisions[$_] - $row->[ $_ + 1 ]) } 0 .. 2), '<',
        1e-9, "weights give the decision values: @$option");
}
for my $option ([], ['--keep-sv'], [qw(--multiclass ova)]) {
    run([ qw(klr-train -q --string-labels -t linear), @$option, $three,
            "$dir/linear" ]);
    my $kept = "@$option" eq '--keep-sv';
    like(info("$dir/linear")->{out}, $kept ? qr/^support vectors  \d\d: \d/m
        : qr/^support vectors  none: the weights take their place$/m,
        "support vectors: @$option");
}
put("$dir/swapped", get($three) =~ s/1:(\S+) 3:(\S+)/1:$2 3:$1/gr);
my $swapped = trained(qw(--string-labels -t linear), "$dir/swapped", "$dir/m");
$lines = run([qw(tools/klr-info -)], stdin => $swapped)->{out};
my ($first, $second) = $lines =~ /^weights,\ a\ against\ c\n
    \ +([-\d.]+)\ \ [13]\n\ +([-\d.]+)\ \ [13]$/mx;
cmp_ok(abs($first // 0), '>', abs($second // 0),
    'by the machine, the largest first');
like($lines, qr/^classes +3, ovo: a b c$/m, 'classes');

# ---- Others ----

for my $model (glob 'tests/fuzz/corpus/model/*') {
    my $run = info('--top', 1, $model);
    like("$run->{exit}$run->{err}$run->{out}", qr/\A0model .*^vector/ms, $model);
}
like(info('tests/fuzz/corpus/model/libsvm-rbf')->{out},
    qr/\Amodel            svm, by LIBSVM\n.*^LIBSVM           reads it$/ms,
    'a model of LIBSVM');
put("$dir/nu", get('tests/fuzz/corpus/model/libsvm-rbf')
        =~ s/^svm_type c_svc/svm_type nu_svc/r);
like(info("$dir/nu")->{out}, qr/^LIBSVM           reads it$/m,
    'by its nu-SVC');
for my $case ([ 'data', get('heart_scale') ],
    [ 'cut', $text =~ s/^scaling_to.*//msr ],
    [ 'short', $text =~ s/^SV\n.*\n\K.*\n//mr ],
    [ 'lacks', $text =~ s/^iterations/iteration/mr ],
    [ 'scaled', $text =~ s/^scaling_index.*\n//mr ],
    [ 'word', $text =~ s/^gamma .*/gamma x/mr ])
{
    my ($name, $damaged) = @$case;
    my $file = put("$dir/$name", $damaged);
    my $run = info($file);
    is("$run->{exit} $run->{err}", "1 klr-info: $file: not a model of klr-train "
            . "or svm-train, or damaged: klr-predict says where\n", $name);
}
is(info('--top', 0, "$dir/model")->{exit}, 2, 'wrong usage');

done_testing();
