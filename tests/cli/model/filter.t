# SPDX-License-Identifier: BSD-3-Clause
#
# klr-predict as a filter that lasts: every line has its answer, whatever it is,
# names go through, and rows unlike those of the training set are told.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $dir = scratch();
my $model = "$dir/model";
run([ qw(klr-train -q -g 0.05 heart_scale), $model ]);

sub predict
{
    my ($rows, @option) = @_;
    return run([ 'klr-predict', @option, '-', $model ], stdin => $rows);
}

# ---- --keep-going ----

my $mixed = "1 1:0.5 # a\nx 1:1 # b\n\n-1 2:x # c  d\n3:1\n # only\n+1 1:1";
my $run = predict($mixed, qw(--keep-going --unlabelled --no-header -b 0));
is($run->{out}, "1\n?\n1\n?\n1\n1\n1\n", 'an answer for each line');
is($run->{exit}, 1, 'the exit status tells of those that are none');
like($run->{err}, qr/\Aklr-predict:\ stdin:2:1:\ label\ 'x':\ not\ a\ .*\n
    klr-predict:\ stdin:4:4:\ feature\ '2:x':\ not\ a\ number\n
    (?:klr-predict:\ warning:\ .*\n)?Accuracy\ =\ 100%\ \(2\/2\)/x, 'each is named, and counts for nothing');
is(predict("1 1:1\n\n", qw(--keep-going --no-header -b 0))->{out}, "1\n?\n",
    'a blank line lacks a label');
is(predict("1 1:1\n\n-1 1:2\n", qw(--no-header -b 0))->{out}, "1\n1\n",
    'without --keep-going it is passed over');
is(predict("1 1:1\n1 x\n1 1:1\n", qw(-q --no-header -b 0))->{out}, "1\n",
    'and the first bad row is the end');
is(predict("1 1:1\n", qw(--keep-going))->{exit}, 0, 'all rows are good');

# More rows than a batch has, some that overflow only in the kernel.
run([ qw(klr-train -q -t linear heart_scale), "$dir/linear" ]);
my @rows = map { $_ % 7 ? "1 1:$_" : $_ % 2 ? '1 1:1e308 3:1e308' : '1 1' }
    1 .. 3000;
$run = run([ qw(klr-predict --keep-going -q -b 0 -), "$dir/linear" ],
    stdin => join '', map {"$_\n"} @rows);
my @answers = split /\n/, $run->{out};
is(scalar @answers, 3000, 'a line for each of many');
my @bad = grep { $answers[ $_ - 1 ] eq '?' } 1 .. 3000;
is_deeply([ grep { $_ % 14 == 0 } @bad ], [ map { 14 * $_ } 1 .. 214 ],
    'those that cannot be read');
is_deeply(\@bad, [ sort { $a <=> $b } $run->{err} =~ /^klr-predict: stdin:(\d+)/mg ],
    'those that are named');
my $good = run([ qw(klr-predict -q -b 0 -), "$dir/linear" ], stdin => join '',
    map {"$rows[$_]\n"} grep { $answers[$_] ne '?' } 0 .. 2999);
is($good->{out}, join('', map {"$_\n"} grep { $_ ne '?' } @answers),
    'the others are answered as without them');

# ---- --id ----

is(predict($mixed, qw(--keep-going --unlabelled -b 0 --id comment))->{out},
    "1 # a\n? # b\n1\n? # c  d\n1\n1 # only\n1\n", 'comments go through');
is(predict("n1 1 1:0.5 # a\nn2 1:1\nn3\n", qw(--keep-going --unlabelled -b 0),
        qw(--id first))->{out}, "n1 1\nn2 1\nn3 1\n", 'so does a first word');
is(predict("n1 1 1:0.5\n", '--id', 'first')->{out},
    predict("1 1:0.5\n")->{out} =~ s/^(?=1)/n1 /mr, 'before probabilities');

# ---- Rows unlike those of the training set ----

my $strange = "1 1:0.5 14:1 16:2\n-1 1:100\n1 15:1\n";
$run = predict($strange);
like($run->{err}, qr/^klr-predict:\ warning:\ stdin:\ rows\ far\ from\ all
    \ support\ vectors:\ 33\.3%\n/mx, 'far rows are told');
unlike(predict($strange, '-q')->{err}, qr/far from/, 'but not with -q');
put("$dir/rows", $strange);
my $json = printed_json(run([ 'klr-predict', '--json', "$dir/rows", $model,
            "$dir/out" ]));
is("$json->{unseen_rows} @{[ sprintf '%.6f', $json->{far} ]}", '2 0.333333',
    'in JSON, too');
unlike(predict(get('heart_scale'))->{err}, qr/warning/,
    'the training set is like itself');
run([ qw(klr-train -q --scale standard -g 0.05 --feature-names),
        put("$dir/names", join '', map {"f$_\n"} 1 .. 20),
        put("$dir/few", join '', map { s/ 3:\S+//r } split /^/,
            get('heart_scale')), "$dir/named" ]);
is(run([ 'klr-predict', '-', "$dir/named" ], stdin => "1 3:1\n")->{err}
        =~ /(the first.*)/ ? $1 : '', 'the first in line 1: 3 (f3)',
    'by name, and by the scaling where there is one');

# The nearest support vector, by hand: at a distance of 10 on both sides of it.
my $two = put("$dir/two", "1 1:0\n-1 1:1\n" x 3);
for my $kernel ([ 'rbf', sqrt 10 ], [ 'laplacian', 10 ]) {
    my ($name, $reach) = @$kernel;
    run([ qw(klr-train -q -g 0.5 -t), $name, $two, "$dir/at" ]);
    for my $part (0.999, 1.001) {
        my $row = sprintf "1 1:%.9f\n", 1 + $part * $reach;
        my $said = run([ 'klr-predict', '-', "$dir/at" ], stdin => $row)->{err};
        is($said =~ /far from/ ? 1 : 0, $part > 1 ? 1 : 0, "$name at $part");
    }
}

done_testing();
