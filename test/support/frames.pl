# Sends frames by eth0 as they are, and tells which ones arrive there.
# Reads lines of hexadecimal digits and sends each; for "done" it prints "done". Prints what arrives in the same form, "ready" first.
# Guarantees: needs nothing but perl-base; what eth0 itself sends is not told.
use strict;
use warnings;
use Socket;

use constant { PF_PACKET => 17, ETH_P_ALL => 3, OUTGOING => 4, SIOCGIFINDEX => 0x8933 };
$| = 1;
socket my $link, PF_PACKET, SOCK_RAW, unpack('S', pack 'n', ETH_P_ALL) or die "no packet socket: $!";
my $request = pack 'a16 x24', 'eth0';
ioctl $link, SIOCGIFINDEX, $request or die "no eth0: $!";
bind $link, pack('S n i x12', PF_PACKET, ETH_P_ALL, unpack 'x16 i', $request) or die "no binding: $!";
print "ready\n";

my ($waiting, $rest) = ('', '');
while (1) {
    vec($waiting, fileno STDIN, 1) = 1;
    vec($waiting, fileno $link, 1) = 1;
    select my $readable = $waiting, undef, undef, undef;
    if (vec $readable, fileno $link, 1) {
        my $from = recv $link, my $bytes, 65536, 0;
        print unpack('H*', $bytes), "\n" if defined $from && (unpack 'SSlSC', $from)[4] != OUTGOING;
    }
    if (vec $readable, fileno STDIN, 1) {
        sysread STDIN, $rest, 1 << 16, length $rest or last;
        while ($rest =~ s/^(.*)\n//) {
            if ($1 eq 'done') { print "done\n" } else { send $link, pack('H*', $1), 0 }
        }
    }
}
