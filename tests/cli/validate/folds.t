# SPDX-License-Identifier: BSD-3-Clause
#
# Cross validation by folds from a file, and the predictions it leaves: against
# models trained without each fold, and metrics computed from them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use List::Util qw(max sum);
use KLR;
use Judge;

my $dir = scratch();
my @heart = split /^/, get('heart_scale');
put("$dir/heart", join '', @heart);
my @fold = map { ($_ * 7 % 11 % 3) * 10 - 10 } 1 .. @heart;
put("$dir/folds", join('', "# folds\n\n", map {" $_ \r\n"} @fold));

sub train { return run([ 'klr-train', '-q', map { split } @_ ], cwd => $dir) }

# The header and the rows of a file of predictions.
sub table
{
    my ($header, @rows) = split /\n/, get("$dir/$_[0]");
    return ($header, map { [ split ' ' ] } @rows);
}

# ---- Folds from a file ----

# Entries of K may be floats where decision values change by less than 1e-5.
for my $case ([ '-s klr -e 1e-11', 1e-5 ],
    [ '-s sklr --link shrunk -e 1e-11', 1e-5 ],
    [ '-s svm -e 1e-6', 1e-4 ])
{
    my ($options, $bound) = @$case;
    my $decisions = $options =~ /svm/ ? '--decision' : '';
    my $run = train("$options --folds-file folds --cv-out cv heart");
    is("$run->{exit}$run->{err}", '0', "$options: says nothing more");
    my ($header, @rows) = table('cv');
    is($header, $decisions ? 'fold true label decision1'
        : 'fold true labels 1 -1',
        "$options: the header");
    is(join(' ', map { $_->[0] } @rows), "@fold", "$options: the folds");
    is_deeply([ map { $_->[1] + 0 } @rows ], [ map { (split)[0] + 0 } @heart ],
        "$options: the labels");
    my ($apart, $other) = (0, 0);
    for my $f (-10, 0, 10) {
        my @held = grep { $fold[$_] == $f } 0 .. $#fold;
        put("$dir/held", join '', @heart[@held]);
        put("$dir/train", join '',
            @heart[ grep { $fold[$_] != $f } 0 .. $#fold ]);
        train("$options train model");
        run([ 'klr-predict', split(' ', $decisions), 'held', 'model', 'out' ],
            cwd => $dir);
        my @out = map { [ split ' ' ] } grep { !/^labels/ } split /\n/,
            get("$dir/out");
        for my $i (0 .. $#held) {
            my (undef, undef, $label, @values) = @{ $rows[ $held[$i] ] };
            my ($expected, @expected) = @{ $out[$i] };
            $other++ if $label ne $expected;
            $apart = max $apart, map { abs($values[$_] - $expected[$_]) }
                0 .. $#expected;
        }
    }
    cmp_ok($apart, '<', $bound,
        "$options: the values of models without the fold");
    is($other, 0, "$options: their labels");
}

# ---- What is written is what is measured ----

{
    my $json = printed_json(
        train('-v 5 --json -c 0.1,1,10 --cv-out cv heart m'));
    my (undef, @rows) = table('cv');
    is(@rows, 270, 'a row for each example');
    my $right = grep { $_->[1] eq $_->[2] } @rows;
    cmp_ok(abs($right / @rows - $json->{accuracy}), '<', 1e-12,
        'the accuracy of the best');
    my $loss = sum(map { -log($_->[1] > 0 ? $_->[3] : $_->[4]) } @rows) / @rows;
    cmp_ok(abs($loss - $json->{log_loss}), '<', 1e-7, 'its log loss');
    my %size;
    $size{ $_->[0] }++ for @rows;
    is_deeply(\%size, { map { $_ => 54 } 1 .. 5 }, 'folds of one size from 1');
    my $first = get("$dir/cv");
    train("-v 5 -c 0.1,1,10 -j $_ --cv-out cv heart m") && is(get("$dir/cv"),
        $first, "the same bytes with -j $_") for 1, 3;
    put("$dir/same", join '', map {"$_->[0]\n"} @rows);
    my $other = printed_json(
        train('--folds-file same --json -c 0.1,1,10 --cv-out other heart m'));
    is(get("$dir/other"), $first, 'the same by its own folds from a file');
    is($other->{log_loss}, $json->{log_loss}, 'and the same metrics');
    is($other->{folds}, 5, 'and as many');
}
{
    my $data = put("$dir/three", clusters(seed => 5, labels => [ 4, -2, 7 ],
            n => 120, d => 3, zeros => 0));
    train("-v 4 --cv-out cv three");
    my ($header, @rows) = table('cv');
    is($header, 'fold true labels -2 4 7', 'three classes: the header');
    is(scalar(grep { abs(sum(@$_[ 3 .. 5 ]) - 1) > 1e-12 } @rows), 0,
        'probabilities add up to 1');
    train("-v 4 -s svm --cv-out cv three");
    ($header, @rows) = table('cv');
    is($header, 'fold true label decision1 decision2 decision3',
        'without probabilities');
    is(scalar(grep { @$_ != 6 } @rows), 0, 'a decision value for each pair');
}

# Folds that leave a class, or a pair of them, without examples.
{
    put("$dir/few", join '', map {"$_ 1:$_\n"} (1) x 20, (2) x 5, (3) x 5);
    put("$dir/fewfolds", join '', map {"$_\n"} (1, 2) x 10, (3) x 10);
    my $run = train('--folds-file fewfolds --cv-out cv few');
    like("$run->{exit}$run->{err}", qr/\A0.* class 2 .* in one fold alone: .*\n/,
        'a fold takes two classes whole');
    my (undef, @rows) = table('cv');
    is(join(' ', map { $_->[2] } @rows), join(' ', (1) x 30),
        'which nothing was learnt of');
}

# A result that cannot be written leaves what is on stdout whole.
SKIP: {
    skip 'there is no /dev/full', 2 if !-c '/dev/full';
    my $run = train('--json -v 5 --cv-out /dev/full heart');
    is("$run->{exit} $run->{err}", '1 klr-train: /dev/full: cannot write: No '
            . "space left on device\n", 'no room for the predictions');
    is(printed_json($run)->{folds}, 5, 'which the metrics do not need');
}

# ---- Refusals ----

put("$dir/short", "1\n2\n");
put("$dir/one", "3\n" x 270);
put("$dir/word", "1\n2 # fine\n\n  two\n");
put("$dir/two", "1\n2 3\n");
put("$dir/real", "1.5\n");
put("$dir/long", "1\n1234567890123456789\n");
put("$dir/empty", "# none\n");
for my $case (
    [ 1, 'short: folds of 2 examples, but the data have 270',
        '--folds-file short heart' ],
    [ 1, 'one: two folds are needed, not 1', '--folds-file one heart' ],
    [ 1, 'empty: two folds are needed, not 0', '--folds-file empty heart' ],
    [ 1, "word:4:3: 'two' is not a whole number of a fold",
        '--folds-file word heart' ],
    [ 1, "two:2:1: '2 3' is not a whole number of a fold",
        '--folds-file two heart' ],
    [ 1, "real:1:1: '1.5' is not a whole number of a fold",
        '--folds-file real heart' ],
    [ 1, "long:2:1: '1234567890123456789' is not a whole number of a fold",
        '--folds-file long heart' ],
    [ 1, 'none: cannot open: No such file or directory',
        '--folds-file none heart' ],
    [ 1, 'none/x: cannot write: No such file or directory',
        '-v 5 --cv-out none/x heart' ],
    [ 2, '--folds-file and -v exclude each other: the file says how many folds'
        . ' there are', '-v 5 --folds-file folds heart' ],
    [ 2, 'folds and training set cannot both come from stdin',
        '--folds-file - - m' ],
    [ 2, 'the results of -v and the predictions cannot both go to stdout',
        '-v 5 --cv-out - heart' ],
    [ 2, 'option --cv-out: only validation (-v) has them', '--cv-out x heart' ],
)
{
    my ($exit, $message, $arguments) = @$case;
    my $run = train($arguments);
    is("$run->{exit} $run->{out}$run->{err}", "$exit klr-train: $message\n",
        $message);
}
ok(!-e "$dir/x", 'nothing is written');

done_testing();
