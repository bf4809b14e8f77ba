# SPDX-License-Identifier: BSD-3-Clause
#
# Recipes of the cookbook that take a second or two print what the book shows;
# tests/long/cookbook_long.t runs all of them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Documents;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my @recipes = recipes();
is(scalar @recipes, 10, 'ten recipes');
for my $recipe (@recipes) {
    ok($recipe->{commands} && $recipe->{output},
        "$recipe->{title} has commands and their output");
    my $anchor = lc $recipe->{title} =~ tr/ /-/r;
    like(get('docs/COOKBOOK.md'), qr/^\| \[\Q$recipe->{title}\E\]\(#$anchor\)/m,
        "$recipe->{title} stands in the table");
}
cook($_) for grep { $_->{title} =~ /^(?:Sensors|Species|Sequences)$/ } @recipes;

# What is compared: words, and numbers to a hundredth.
ok(Documents::is_alike(@$_), "@$_ are alike")
    for [qw(1.000 1.009)], [qw(98.1% 97.5%)], [qw(=0 =0.004)], [qw(a a)];
ok(!Documents::is_alike(@$_), "@$_ are not alike")
    for [qw(1.000 1.02)], [qw(98.1% 97.5)], [qw(a b)], [qw(a1 b1)];

done_testing();
