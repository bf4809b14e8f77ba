# SPDX-License-Identifier: BSD-3-Clause
#
# Approximate leave-one-out against n trainings: log losses within 2 per cent.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

plan skip_all => 'KLR_DATA is not set' unless data('heart.svm');

my $dir = scratch();

sub losses
{
    my ($data, @how) = @_;
    my $run = run([ 'klr-train', '-q', '--json', @how, '-c', '0.1,1,10', $data,
            "$dir/model" ]);
    return map { $_->{log_loss} } @{ printed_json($run)->{values} };
}

for my $name (qw(heart sonar ionosphere)) {
    my $data = scaled($dir, $name);
    ok($data, "$name is there") or next;
    my $n = () = get($data) =~ /^\S/mg;
    my @approximate = losses($data, '--loo');
    my @exact = losses($data, '-v', $n);
    for my $c (0 .. 2) {
        my $percent = 100 * ($approximate[$c] / $exact[$c] - 1);
        cmp_ok(abs($percent), '<', 2, sprintf '%s, C = %g: %.6f, exact %.6f,'
            . ' %+.3f%%', $name, (0.1, 1, 10)[$c], $approximate[$c], $exact[$c],
            $percent);
    }
}

done_testing();
