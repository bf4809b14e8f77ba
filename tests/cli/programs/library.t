# SPDX-License-Identifier: BSD-3-Clause
#
# The library from an installed prefix: headers that stand alone, examples and
# the code of docs/LIBRARY.md, as C and as C++, static and shared; what the
# shared library shows; and that it goes as it came.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Cwd ();
use File::Find ();
use KLR;

my @compilers = grep { peer($_) } qw(gcc clang);
plan skip_all => 'no g++ is installed' unless peer('g++') && @compilers;

my $here = Cwd::getcwd();
my $build = $ENV{KLR_BUILD} // 'build';
my $prefix = scratch() . '/a prefix';
my $dir = scratch();
my @make = ('make', '-s', "BUILD=$build", "PREFIX=$prefix");

sub make
{
    return run([ @make, @_ ], env => { MAKEFLAGS => '', MAKELEVEL => 1 });
}

sub files
{
    my @files;
    File::Find::find(sub { push @files, $File::Find::name if !-d }, $prefix)
        if -d $prefix;
    return sort @files;
}

my $installed = make('install-lib');
is("$installed->{exit}$installed->{err}", '0', 'make install-lib');
my @headers = grep {/\.h$/} files();
cmp_ok(scalar @headers, '>', 5, 'headers are installed');

# Flags by which isnan() is always false, or sums take another order. What no
# macro tells of, the Makefile takes back.
for my $compiler (@compilers) {
    for my $flags ('-ffast-math', '-Ofast', '-O2 -ffinite-math-only',
        $compiler eq 'gcc' ? '-O2 -funsafe-math-optimizations' : ())
    {
        my $run = run([ $compiler, split(' ', $flags),
                qw(-std=c11 -D_GNU_SOURCE -I. -E -o /dev/null kernel.c) ]);
        like($run->{err}, qr/error: .*without -ffast-math/,
            "$compiler $flags: refused");
        isnt($run->{exit}, 0, 'by its exit status');
    }
}
my $command = run([ qw(make -Bn V=1 build/base/base.o),
        'CFLAGS=-O2 -ffp-contract=fast -funsafe-math-optimizations' ],
    env => { MAKEFLAGS => '', MAKELEVEL => 1 })->{out};
for my $flag ([ 'fp-contract=fast', 'fp-contract=off' ],
    [ 'unsafe-math-optimizations', 'no-unsafe-math-optimizations' ])
{
    like($command, qr/ -f\Q$flag->[0]\E .* -f\Q$flag->[1]\E /,
        "-f$flag->[0] is taken back");
}

# ---- What it shows ----

my @shown = map { /\S+$/ ? $& : () } split /\n/, run([ qw(nm -D
            --defined-only), "$prefix/lib/libklr.so" ])->{out};
cmp_ok(scalar @shown, '>', 50, 'names');
is(join(' ', grep { !/^klr_\w+(@@?KLR_1)?$|^KLR_1$/ } @shown), '',
    'that all begin with klr_');
like(run([ qw(readelf -d), "$prefix/lib/libklr.so" ])->{out},
    qr/soname: \[libklr\.so\.\d+\]/, 'a soname with a number');

# ---- How programs are built with it ----

# As pkg-config reads it, which need not be here.
my $pc = get("$prefix/lib/pkgconfig/klr.pc");
my %folder = (includedir => "$prefix/include", libdir => "$prefix/lib");
my ($cflags, $libs, $private) = map { my $key = $_;
    [ map { s/"\$\{(\w+)\}"/$folder{$1}/r }
        split ' ', $pc =~ /^\Q$key\E: (.*)/m && $1 ] }
    qw(Cflags Libs Libs.private);
SKIP: {
    skip 'pkg-config is not installed', 1 unless peer('pkg-config');
    my $told = run([ qw(pkg-config --cflags --libs klr) ],
        env => { PKG_CONFIG_PATH => "$prefix/lib/pkgconfig" });
    is($told->{out} =~ s/\s+$//r, join(' ', map { s/ /\\ /gr } @$cflags, @$libs),
        'pkg-config');
}

my @strict = qw(-Wall -Wextra -Werror -pedantic);
my %language = (
    gcc => [ qw(gcc -x c -std=c99) ],
    'g++' => [ qw(g++ -x c++ -std=c++11) ],
    clang => [ qw(clang -x c -std=c11) ],
);

for my $compiler ('g++', @compilers) {
    my $run = run([ @{ $language{$compiler} }, @strict, "-I$prefix/include",
            qw(-Wno-unused-function -fsyntax-only), @headers ]);
    is("$run->{exit}$run->{err}", '0', "$compiler: each header stands alone");
}

# "shared" or "static": the program, or undef.
sub compiled
{
    my ($compiler, $kind, $source) = @_;
    my $program = "$dir/program";
    unlink $program;
    my @library = $kind eq 'shared'
        ? (@$libs, "-Wl,-rpath,$prefix/lib")
        : ("$prefix/lib/libklr.a", @$private);
    my $run = run([ @{ $language{$compiler} }, @strict, @$cflags,
            $source, '-x', 'none', '-o', $program, @library ]);
    is("$run->{exit}$run->{err}", '0', "$compiler, $kind: $source");
    return $run->{exit} ? undef : $program;
}

# The first code of the document, which is a program.
my ($code) = get('docs/LIBRARY.md') =~ /^```c\n(.*?)^```/ms;
put("$dir/from_document.c", $code);
run([ 'klr-train', qw(-q -g 0.05), 'heart_scale', "$dir/heart.model" ]);

my %right = (
    from_memory => sub {
        my ($program) = @_;
        my $run = run([ $program, "$dir/xor.model" ]);
        is($run->{exit} . $run->{err}, '0', 'from_memory');
        is($run->{out} =~ s/\d+ support/N support/r, <<'END', 'answers');
converged, gap 1e-06, N support vectors
 0.5  0.5: class -1, probability of 1 below 1/2
 0.5 -0.5: class  1, probability of 1 above 1/2
-0.5  0.5: class  1, probability of 1 above 1/2
-0.5 -0.5: class -1, probability of 1 below 1/2
END
        my $told = run([ qw(klr-predict -q --unlabelled -), "$dir/xor.model" ],
            stdin => "1:0.5 2:-0.5\n");
        like($told->{out}, qr/^1 0\.[89]/m, 'and a model for klr-predict');
    },
    server => sub {
        my ($program) = @_;
        my @rows = (split /\n/, get('heart_scale'))[ 0 .. 2 ];
        s/^\S+ // for @rows;
        my $run = run([ $program, "$dir/heart.model" ],
            stdin => "$rows[0]\n1:x\n$rows[1]\n");
        my @told = map { [ split ' ' ] } split /\n/,
            run([ qw(klr-predict -q --unlabelled --no-header -),
                    "$dir/heart.model" ], stdin => "$rows[0]\n$rows[1]\n")->{out};
        my @want = map { my ($a, $b) = @$_[ 1, 2 ];
            sprintf '%s %.3f', $_->[0], $a > $b ? $a : $b } @told;
        is($run->{out}, "$want[0]\n?\n$want[1]\n", 'server');
        like($run->{err}, qr/\Astdin:2: .*'1:x'.*\n\z/, 'a wrong row');
    },
    own_progress => sub {
        my ($program) = @_;
        my $run = run([ $program, 'heart_scale' ]);
        like("$run->{exit}$run->{out}", qr/\A0converged, [1-9]/, 'own_progress');
        $run = run([ $program, 'heart_scale', 1 ]);
        like("$run->{exit}$run->{out}", qr/\A0interrupted, /, 'stopped');
    },
    from_document => sub {
        my ($program) = @_;
        my $run = run([ $program, 'heart_scale' ]);
        like("$run->{exit}$run->{out}", qr/\A0-?1 [\d.]+\n\z/, 'LIBRARY.md');
    },
);

for my $source (glob('examples/*.c'), "$dir/from_document.c") {
    my ($name) = $source =~ m{(\w+)\.c$};
    for my $case ([qw(gcc shared)], [qw(gcc static)], [qw(g++ shared)],
        [qw(g++ static)], [qw(clang shared)], [qw(clang static)])
    {
        my ($compiler, $kind) = @$case;
        next unless $compiler eq 'g++' || grep { $_ eq $compiler } @compilers;
        next if $kind eq 'static' && $name ne 'from_memory';
        my $program = compiled($compiler, $kind, $source);
        $right{$name}->($program) if $program;
    }
}

my $removed = make('uninstall-lib');
is("$removed->{exit}" . join(' ', files()), '0', 'make uninstall-lib');

done_testing();
