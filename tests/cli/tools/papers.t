# SPDX-License-Identifier: BSD-3-Clause
#
# bench/papers/: the divisions, figures, jobs and the document that all scripts
# share; and that each script writes its tables where nothing has been run.
use strict;
use warnings;
use File::Path qw(make_path);
use FindBin ();
use lib "tests/cli/lib", "bench/papers";
use JSON::PP ();
use KLR ();
use Papers;
use Test::More;

my $dir = scratch();
local $ENV{KLR_DATA} = $dir;
local $ENV{KLR_BUILD} = "$dir/build";
local $ENV{QUICK} = 1;

# Park and Miller's generator from 1: the 10,000th, as the C++ standard has it;
# ten are drawn before the first.
my $next = uniform(0);
$next->() for 1 .. 9989;
is sprintf('%.0f', $next->() * 2147483647), 399268537, 'the generator';

my @normal = map { normal($next) } 1 .. 20000;
cmp_ok abs(mean(@normal)), '<', 0.03, 'normal numbers: mean 0';
cmp_ok abs(mean(map { $_**2 } @normal) - 1), '<', 0.05, 'variance 1';

my @labels = ((1) x 7, (-1) x 13);
my @folds = folds(\@labels, 4, 1);
is_deeply [ sort { $a <=> $b } map {@$_} @folds ], [ 0 .. 19 ],
    'folds: each position once';
is_deeply [ map { scalar @$_ } @folds ], [ (5) x 4 ], 'of the same size';
is_deeply [ sort map { scalar grep { $_ < 7 } @$_ } @folds ], [ 1, 2, 2, 2 ],
    'and of the same classes';
is_deeply [ folds(\@labels, 4, 1) ], \@folds, 'the same of the same seed';
isnt join(' ', map {@$_} folds(\@labels, 4, 2)), join(' ', map {@$_} @folds),
    'others of another';
is_deeply complement(5, [ 1, 3 ]), [ 0, 2, 4 ], 'complement';

my ($rest, $held) = holdout(\@labels, 4, 1, 0 .. 3, 10 .. 17);
is_deeply [ sort { $a <=> $b } @$rest, @$held ], [ 0 .. 3, 10 .. 17 ],
    'holdout: each of the positions once';
is_deeply [ scalar(grep { $_ < 7 } @$held), scalar @$held ], [ 1, 3 ],
    'a quarter of each class';

($rest, my $chosen) = sample(\@labels, 10, 3);
is_deeply [ sort { $a <=> $b } @$rest, @$chosen ], [ 0 .. 19 ],
    'sample: each position once';
is scalar @$chosen, 10, 'as many as asked for';
like scalar(grep { $_ < 7 } @$chosen), qr/^[34]$/, 'half of the smaller class';

is mean(1, 2, 6), 3, 'mean';
is mean(), undef, 'of none';
cmp_ok abs(deviation(2, 4, 4, 4, 5, 5, 7, 9) - sqrt(32 / 7)), '<', 1e-12,
    'deviation';
is deviation(3), undef, 'of one';
is mean_and_deviation('%.1f', 1, 2, 3), '2.0 (1.0)', 'mean and deviation';
is mean_and_deviation('%.1f', 5), '5.0', 'of one';
is mean_and_deviation('%.1f'), '-', 'of none';
is median(9, 1, 3), 3, 'median of three';
is median(4, 1, 3, 9), 3.5, 'of four';
cmp_ok abs(slope(map { [ $_, 7 - 2 * $_ ] } 1, 2, 5) + 2), '<', 1e-12, 'slope';
is number('%.2f', 1 / 3), '0.33', 'number';
is number('%.2f', undef), '-', 'that is not there';
is table([ 'a', 'b' ], [ 'x', 1 ], [ 'y', undef ]),
    "| a | b |\n| --- | ---: |\n| x | 1 |\n| y | - |\n", 'table';

# Programs on a set of twelve rows.
KLR::put("$dir/toy.svm", join '', map { sprintf "%d 1:%d\n", $_ % 3 ? 1 : -1,
    $_ } 1 .. 12);
is_deeply set_rows('toy')->[-1], '-1 1:12', 'rows as they are';
like set_rows('toy', qw(-l 0 -u 1))->[-1], qr/^-1 1:1 *$/, 'rows scaled';
is scalar @{ set_rows('toy+toy', '--standardize') }, 24, 'rows of two files';
is_deeply labels(set_rows('toy')), [ (1, 1, -1) x 4 ], 'labels';
put_rows("$dir/part", set_rows('toy'), [ 0, 2, 3, 5 ]);
is KLR::get("$dir/part"), "1 1:1\n-1 1:3\n1 1:4\n-1 1:6\n", 'some rows';

my $said = train(qw(-s klr -c), '1,10', "$dir/part", "$dir/model");
is_deeply [ map { $_->{c} } @$said ], [ 1, 10 ], 'train: a hash for each C';
is predict("$dir/part", "$dir/model.10")->{rows}, 4, 'predict';
is_deeply [ map { [ $_->{c}, defined $_->{accuracy} ] } validate(qw(-s klr -v 2
    -c), '1,10', "$dir/part", "$dir/model") ], [ [ 1, 1 ], [ 10, 1 ] ],
    'validate';
KLR::put("$dir/uneven", "-1 1:0\n" . join '', map {"1 1:$_\n"} 1 .. 200);
is train(qw(-s sklr -c 0.001 --box 1e-4), "$dir/uneven", "$dir/model"), undef,
    'train: no model where the box is empty';
ok !eval { train(qw(-s klr -l 1), "$dir/part", "$dir/model"); 1 },
    'train: what is refused';
like $@->{absent}, qr/option -l/, 'is absent, with the reason';

# Jobs: what is done is not done again, what is absent is asked again.
sub jobs
{
    my ($two) = @_;
    return results(
        [ 'a/one', sub { KLR::put("$dir/ran", 'x'); return { value => 1 } } ],
        [ 'a/two', $two ],
        [ 'b/bad', sub { die "broken\n" } ]);
}

{
    open my $kept, '>&', \*STDERR or die;
    open STDERR, '>', "$dir/said" or die;
    my $first = jobs(sub { die { absent => "refused\n" } });
    unlink "$dir/ran" or die "the job did not run\n";
    my $again = jobs(sub { return { value => 2 } });
    my $kept_not_run = !-e "$dir/ran";
    mkdir "$dir/bin";
    KLR::put("$dir/bin/klr-$_", 'another') for qw(train predict scale);
    local $ENV{KLR_BIN} = "$dir/bin";
    jobs(sub { die { absent => "refused\n" } });
    open STDERR, '>&', $kept or die;
    is_deeply $first, { 'a/one' => { value => 1 },
        'a/two' => { absent => 'not built' },
        'b/bad' => { absent => 'not run' } }, 'results';
    is_deeply $again, { %$first, 'a/two' => { value => 2 } },
        'what was absent is asked for again';
    ok $kept_not_run, 'what is kept is not run again';
    ok -e "$dir/ran", 'what other programs computed is';
    is join('', sort split /^/, KLR::get("$dir/said")),
        "a/two: not built: refused\n" x 2 . "b/bad: broken\n" x 3, 'reasons';
}

# The document: a section takes the place of the one before.
{
    open my $kept, '>&', \*STDOUT or die;
    open STDOUT, '>', '/dev/null' or die;
    publish(@$_) for [ One => "1\n" ], [ Two => "2\n" ], [ One => "3\n\n" ];
    open STDOUT, '>&', $kept or die;
    is KLR::get("$dir/build/papers/quick/PAPERS.md"),
        join("\n", "# The papers' tables\n", map { ("## $_->[0]\n",
            "Protocol: the head of bench/papers/papers.t.\n", "$_->[1]\n") }
            [ One => 3 ], [ Two => 2 ]), 'sections';
}

# Each script, with figures of the paper beside what was not run.
my %shows = (consolo => 'sonar \| 0\.866 \| not run', keerthi => 'Banana \| -2',
    maalouf => 'WBCD \| 98\.1 \+- 1\.1 \| not run', lin => 'heart \| 83\.0 \| not run',
    links => 'sonar \| not run', mika => '0\.01 \| svm \| 6\.3 \| not run');
for my $name (sort keys %shows) {
    my $run = KLR::run([ $^X, "bench/papers/$name.pl", '--only', '^$' ]);
    is $run->{exit}, 0, "$name.pl" or diag $run->{err};
    is $run->{err}, '', 'without warnings';
    like KLR::get("$dir/build/papers/quick/PAPERS.md"), qr/\| $shows{$name}/,
        'its table';
}

# Log losses of five runs, .3 on average against .31: their differences are 0,
# -.04, 0, 0, -.01, with the deviation .0003^1/2, and the error is that times
# (1/5 + 1/4)^1/2.
{
    my %loss = ('klr' => [ .3, .3, .3, .3, .3 ],
        'svm-platt' => [ .3, .34, .3, .3, .31 ]);
    for my $title (sort keys %loss) {
        for my $run (0 .. 4) {
            my $file = Papers::kept_in() . "/links/sonar/$title/run$run.json";
            make_path($file =~ m{(.*)/});
            KLR::put($file, JSON::PP::encode_json({ map { ($_ => {
                log_loss => $loss{$title}[$run], ece => 0, c => 10,
                gamma => 2**-2 })
                } qw(log_loss accuracy) }));
        }
    }
    my $run = KLR::run([ $^X, 'bench/papers/links.pl', '--only', '^$' ]);
    is $run->{err}, '', 'kept runs: without warnings';
    my $said = KLR::get("$dir/build/papers/quick/PAPERS.md");
    my $less = '-0\.0100 \| 0\.0116 \| - \| -';
    like $said,
        qr/^\| sonar \| 5 \| 0\.300 \| 0\.310(?: \| not run){2} \| $less/m,
        'means, a difference and its error';
    like $said, qr/^\| sonar \| 0\.300 \| 0\.313 \| not run/m,
        'what all are compared on';
    like $said, qr/of klr is at most that of svm, platt on 1 of 1 sets/,
        'the sets on which klr is no worse';
    like $said, qr/^\| klr \| 0\.00 \| 1\.00 \| 0\.00 \| 1\.00 \|$/m,
        'choices at the ends of the grid';
}

my $run = KLR::run([ $^X, 'bench/papers/lin.pl', '--only' ]);
isnt $run->{exit}, 0, 'a wrong call is refused';
like $run->{err}, qr/says how to call it/, 'with a hint';

done_testing();
