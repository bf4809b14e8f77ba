#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# The rooms of the solver stand on floors, which the head of solver/internal.h
# lists. A file includes headers of its own room, and of rooms on its floor or
# below the one that bears the room's name; solver/internal.h includes none.
# A folder has at most 16 files, and no two files have one name.
#
#   tests/floors.pl [FOLDER]     the tree to look at: the present one
use strict;
use warnings;
use File::Find qw(find);

chdir($ARGV[0] // '.') or die "$ARGV[0]: $!\n";
my (%floor, $wrong);

sub complain { print "@_\n"; $wrong = 1 }

sub lines
{
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    return <$file>;
}

for (lines('solver/internal.h')) {
    if (my ($number, $rooms) = /^ \* +floor (\d+) +(\S+(?: \S+)*)/) {
        $floor{$_} = $number for split ' ', $rooms;
    }
    complain("solver/internal.h:$.: includes a room") if m{^#include "solver/};
}

for my $path (glob 'solver/*/*.[ch]') {
    my ($room) = $path =~ m{^solver/(\w+)/};
    complain("$path: solver/internal.h gives $room no floor")
        unless defined $floor{$room};
    my $line = 0;
    for (lines($path)) {
        $line++;
        my ($other, $name) = m{^#include "solver/(\w+)/(\S+)"} or next;
        next if $other eq $room;
        complain("$path:$line: $other is on a floor above $room")
            if ($floor{$other} // 99) > ($floor{$room} // 0);
        complain("$path:$line: $other is entered by $other.h alone")
            if $name ne "$other.h";
    }
}

# Of what is not made, here or in debian/.
my (%count, %path);
sub count_file
{
    $File::Find::prune = 1 if m{^\./(?:build.*|\.git|debian/.+)$|/__pycache__$};
    my ($folder, $name) = m{^\./(.+)/([^/]+)$} or return;
    return unless -f;
    $count{$folder}++;
    complain("$_: $path{$name} has that name, too") if $path{$name};
    $path{$name} = $_;
    return;
}
find({ no_chdir => 1, wanted => \&count_file }, '.');
for my $folder (sort grep { $count{$_} > 16 } keys %count) {
    complain("$folder: $count{$folder} files");
}
exit($wrong ? 1 : 0);
