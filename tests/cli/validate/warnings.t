# SPDX-License-Identifier: BSD-3-Clause
#
# Warnings of folds that classes do not fill, and of choices that were none.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $dir = scratch();

sub train { return run([ 'klr-train', split ' ', $_[0] ], cwd => $dir) }

# The warnings of a run, one a line, without the name of the program.
sub warnings_of
{
    my ($options) = @_;
    my $run = train($options);
    is($run->{exit}, 0, "$options: exit status");
    return join '', $run->{err} =~ /^klr-train: warning: (.*\n)/mg;
}

# ---- long trainings ----

my @line = map { sprintf "%d 1:%.4f\n", $_ % 2, ($_ * 7919 % 300007) / 300007 }
    1 .. 300000;
put("$dir/long", join '', @line);
put("$dir/shorter", join '', @line[ 0 .. 99999 ]);
my $soon = '-q -j 1 -m 1000 --time-limit 0.01';
my $lasts = qr/^long: klr of all 300000 examples takes about \d+ minutes; --basis /;
like(warnings_of("$soon long m"), $lasts, 'a training of more than ten minutes');
unlike(warnings_of("$soon shorter m"), qr/takes about/, '... not a shorter one');
unlike(warnings_of("$soon --basis 9 long m"), qr/takes about/,
    '... nor one on a basis');

# ---- a best point that hangs on eps ----

put("$dir/apart", join '', map {
        sprintf "%d 1:%.4f 2:%.4f\n", $_ % 2, 6 * ($_ % 2) + $_ * 7919 % 97 / 97,
            $_ * 104729 % 89 / 89
    } 1 .. 40);
my @apart = ('-q -v 4 -s sklr -l 0.01c -g 0.1', '-c 1,100,1e4 apart m');
my $told = warnings_of("@apart");
my $hangs = qr/^the logloss of the best point is (\S+) where points are compared, and (\S+) by itself: a smaller -e may choose another one$/m;
like($told, $hangs, 'a best point that hangs on eps');
my ($compared, $itself) = $told =~ $hangs;
cmp_ok(abs($compared - $itself), '>', 1e-4, 'two numbers');
unlike(warnings_of("$apart[0] -e 1e-6 $apart[1]"), $hangs, 'a small -e');
unlike(warnings_of("$apart[0] -c 1 apart"), $hangs, 'one point');

# ---- classes and folds ----

# Labels with a feature that lies near those of the same class.
sub put_labels
{
    my ($name, @label) = @_;
    my $i = 0;
    return put("$dir/$name",
        join '', map { $i++; "$_ 1:" . ($_ + $i / 100) . "\n" } @label);
}
my $lone = 'in one fold alone: the model that is asked about it has not seen the '
    . "class";
put_labels('few', ((1, 2) x 20), 3, 3, 3, 4, 5);
is(warnings_of('-q -v 5 few'),
    "few: class 4 has 1 example, $lone; and 1 more like it\n"
        . "few: class 3 has 3 examples, fewer than there are folds\n",
    'classes smaller than the folds');
is(warnings_of('-q few m'), '', 'without folds nothing is said');
put_labels('fill', ((1, 2) x 20), (3) x 5);
is(warnings_of('-q -v 5 fill'), '', 'a class with as many examples as folds');
is(warnings_of('-q -v 45 fill'), '', 'a fold for each example');
put("$dir/folds", join '', map {"$_\n"} ((1, 2) x 20), (2) x 5);
is(warnings_of('-q --folds-file folds fill'),
    join('', map { "fill: class $_\n" } "1 has 20 examples, $lone; and 2 more like "
        . "it"), 'folds that are classes');
put("$dir/folds", join '', map {"$_\n"} ((1, 1, 2, 2) x 10), 1, (2) x 4);
is(warnings_of('-q --folds-file folds fill'), '', 'folds that are none');
put("$dir/named", get("$dir/few") =~ s/^4/four/mr =~ s/^5 .*\n//mr);
like(warnings_of('-q -v 3 --string-labels named'),
    qr/\Anamed: class four has 1 example, $lone\n\z/, 'names of classes');

# ---- grids ----

put("$dir/heart", get('heart_scale'));
my $grid = '-g 0.05 -v 3 heart m';
my $edge = 'the best point is at the edge of the grid: ';
my $beyond = "; a better one may lie beyond\n";
is(warnings_of("-c 0.001,0.01,0.1 $grid"), $edge . 'C = 0.1 is the largest'
    . $beyond, 'the largest C');
is(warnings_of("-c 100,1000,10000 $grid"), $edge . 'C = 100 is the smallest'
    . $beyond, 'the smallest C');
is(warnings_of("-c 0.01,1,1000 $grid"), '', 'a C within the grid');
is(warnings_of("-c 0.1,1 $grid"), '', 'of two values one is the best');
is(warnings_of("-q -c 0.001,0.01,0.1 $grid"), '', '-q');
is(warnings_of('-c 0.01,0.1,1 -g 1e-4,1e-3,0.01 -v 3 heart m'),
    $edge . 'gamma = 0.01 is the largest, C = 1 is the largest' . $beyond,
    'two parameters');
unlike(warnings_of("-s sklr -c 1 -l 0,1,2 $grid"), qr/lambda/, 'a lambda of 0');

# ---- answers that are one class ----

my $single = 'all examples are answered as class -1: the accuracy is the share '
    . "of that class\n";
is(warnings_of('-q -c 0.01 -v 3 heart'), $single, 'one class answers all');
is(warnings_of('-q -c 0.005,0.01 --metric mcc -v 3 heart m'),
    "no point has a value of the metric mcc: logloss chooses\n$single",
    'a metric without a value');
is(warnings_of('-q -c 0.01,0.1 --metric mcc -v 3 heart m'), '',
    'a metric that one point has');
is(warnings_of('-q -c 0.01 heart m'), '', 'training says nothing of that');
my $predict = run([ 'klr-predict', 'heart', 'm', 'out' ], cwd => $dir);
is($predict->{err}, "klr-predict: warning: heart: $single", 'a prediction does');
is(run([ 'klr-predict', '-q', 'heart', 'm', 'out' ], cwd => $dir)->{err}, '',
    '... unless -q');
put("$dir/one", join '', grep {/^-1/} split /^/, get('heart_scale'));
is(run([ 'klr-predict', 'one', 'm', 'out' ], cwd => $dir)->{err}, '',
    'test sets of one class are none to tell apart');

# ---- JSON ----

# Objects of JSON have the warnings that stderr has. Returns how many.
sub warned
{
    my ($command) = @_;
    my $run = run([ split ' ', $command ], cwd => $dir);
    my @said = $run->{err} =~ /^klr-[a-z]+: warning: (.*)$/mg;
    my $json = JSON::PP->new->latin1->decode($run->{out});
    is_deeply($_->{warnings}, \@said, $command)
        for ref $json eq 'ARRAY' ? @$json : $json;
    return @said;
}
my $odd = "o\"d\xFF";
put("$dir/$odd", get('heart_scale') =~ s/ 1:/ qid:1 1:/r);
is(warned("klr-train -q --json $odd m"), 1, 'training');
is(warned("klr-train -q --json -s kfd $odd m"), 1, 'no warnings but of data');
is(warned("klr-train -q --json -c 1,2 $odd m"), 1, 'several models');
is(warned("klr-train -q --json -a smo --max-iter 9 $odd m"), 2, 'not converged');
is(warned("klr-train --json -v 3 -c 0.001,0.01,0.1 -g 0.05 $odd m"), 2,
    'a grid and the model of its best point');
is(warned('klr-train -q --json -v 3 -c 0.01 heart unwritten'), 2, 'validation');
is(warned("klr-train -q --json --check-kernel $odd"), 1, 'a kernel matrix');
is(warned("klr-predict --json $odd m out"), 1, 'prediction');
is(warned('klr-predict --json heart m out'), 0, 'nothing to warn of');

done_testing();
