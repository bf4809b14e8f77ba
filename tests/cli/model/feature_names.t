# SPDX-License-Identifier: BSD-3-Clause
#
# Names of features: where they come from, that models keep them, and what is
# refused.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $dir = scratch();
my @names = map {"feature.$_"} 1 .. 13;
my $names = put("$dir/names", join '', " $names[0] \r\n\n",
    map {"$_\n"} @names[ 1 .. 12 ]);

sub train { return run([ 'klr-train', '-q', @_ ]) }

for my $option ([], [ '--scale', 'standard' ], [ '-v', 3, '-c', '1,10' ]) {
    my $run = train(@$option, '--feature-names', $names, 'heart_scale',
        "$dir/model");
    is("$run->{exit}$run->{err}", '0', "names are taken: @$option");
    like(get("$dir/model"), qr/^feature_names @names\n/m, 'the model has them');
    train(@$option, 'heart_scale', "$dir/plain");
    is(get("$dir/model") =~ s/^feature_names .*\n//mr, get("$dir/plain"),
        'and is the same otherwise');
    is(run([ 'klr-predict', 'heart_scale', "$dir/model" ])->{out},
        run([ 'klr-predict', 'heart_scale', "$dir/plain" ])->{out},
        'it answers alike');
}
is(train('--feature-names', '-', 'heart_scale', "$dir/piped")->{exit}, 1,
    'none from an empty stdin');
is(run([ 'klr-train', '-q', '--feature-names', '-', 'heart_scale',
            "$dir/piped" ], stdin_file => $names)->{exit}, 0, 'from stdin');

for my $case (
    [ ': 2 names, but the data have a feature 13', "a\nb\n" ],
    [ ":2:2: 'a b' is not a name of a feature", "a\n a b\n" ],
    [ ":1:1: 'a,b' is not a name of a feature", 'a,b' ],
    [ ":1:1: 'a\\x01' is not a name of a feature", "a\1" ],
    [ ":3:1: name 'a' is repeated", "a\nb\na\n" ],
    [ ': no names', "\n \n" ])
{
    my ($why, $text) = @$case;
    my $file = put("$dir/bad", $text);
    my $run = train('--feature-names', $file, 'heart_scale', "$dir/none");
    is("$run->{exit} $run->{err}", "1 klr-train: $file$why\n", "refused$why");
}
ok(!-e "$dir/none", 'and no model is written');
is(train('--feature-names', $names, '-t', 4, 'heart_scale')->{err},
    "klr-train: option --feature-names: a precomputed kernel has no features\n",
    'a precomputed kernel');
is(train('--feature-names', $names, 'heart_scale', $names)->{exit}, 2,
    'the names are not replaced');

done_testing();
