# One end of many connections, by hand: sends the first packet of each and tells which ones arrive.
# Reads lines "PROTOCOL SOURCE DESTINATION SOURCE-PORT PORT" and sends each; for "done" it prints "done".
# Prints "got PROTOCOL SOURCE DESTINATION SOURCE-PORT PORT" for what arrives, whoever it is for, and "ready" at the start.
# Guarantees: needs nothing but perl-base; checksums are right, for connection tracking drops packets whose are not.
use strict;
use warnings;
use Socket qw(:DEFAULT inet_pton inet_ntop pack_sockaddr_in6 AF_INET6);

use constant { PF_PACKET => 17, ETH_P_ALL => 3, OUTGOING => 4, SO_RCVBUFFORCE => 33, IPPROTO_RAW => 255 };
my %NUMBER = (tcp => 6, udp => 17, sctp => 132);
my %NAME = reverse %NUMBER;
$| = 1;

my @CRC32C = map {
    my $crc = $_;
    $crc = $crc & 1 ? ($crc >> 1) ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
    $crc;
} 0 .. 255;

sub crc32c {
    my $crc = 0xffffffff;
    $crc = $CRC32C[($crc ^ $_) & 255] ^ ($crc >> 8) for unpack 'C*', $_[0];
    return $crc ^ 0xffffffff;
}

sub ones_sum {
    my ($bytes) = @_;
    my $sum = 0;
    $sum += $_ for unpack 'n*', length($bytes) % 2 ? "$bytes\0" : $bytes;
    $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
    return ~$sum & 0xffff;
}

# A SYN, a datagram, an INIT.
sub transport {
    my ($protocol, $pseudo, $from, $to) = @_;
    if ($protocol eq 'sctp') {
        my $chunk = pack 'CCn NNnnN', 1, 0, 20, 0x1234, 65536, 1, 1, 1;
        my $header = pack 'nnN', $from, $to, 0;
        return $header . pack('V', crc32c("$header\0\0\0\0$chunk")) . $chunk;
    }
    my ($head, $tail) = $protocol eq 'tcp'
        ? (pack('nn NN CC n', $from, $to, 1, 0, 0x50, 0x02, 64240), pack 'n', 0)
        : (pack('nn n', $from, $to, 12), 'ping');
    my $length = length($head) + 2 + length $tail;
    my $sum = ones_sum($pseudo->($length, $NUMBER{$protocol}) . $head . "\0\0" . $tail);
    return $head . pack('n', $sum || 0xffff) . $tail;
}

my %out;
for my $family (AF_INET, AF_INET6) {
    socket $out{$family}, $family, SOCK_RAW, IPPROTO_RAW or die "no raw socket: $!";
}

sub send_one {
    my ($protocol, $source, $destination, $from, $to) = @_;
    my $family = $source =~ /:/ ? AF_INET6 : AF_INET;
    my ($s, $d) = map { inet_pton($family, $_) } $source, $destination;
    if ($family == AF_INET) {
        my $payload = transport($protocol, sub { $s . $d . pack 'nn', $_[1], $_[0] }, $from, $to);
        my $header = pack 'CCnnnCCn', 0x45, 0, 20 + length $payload, 0, 0, 64, $NUMBER{$protocol}, 0;
        return send $out{$family}, $header . $s . $d . $payload, 0, pack_sockaddr_in(0, $d);
    }
    my $payload = transport($protocol, sub { $s . $d . pack 'NN', $_[0], $_[1] }, $from, $to);
    my $header = pack 'NnCC', 0x60000000, length $payload, $NUMBER{$protocol}, 64;
    return send $out{$family}, $header . $s . $d . $payload, 0, pack_sockaddr_in6(0, $d);
}

# Only first packets are told: an answer to one is not another.
sub report {
    my ($bytes) = @_;
    return if length $bytes < 20;
    my $version = ord($bytes) >> 4;
    my ($number, $s, $d, $payload);
    if ($version == 4) {
        ($number, $s, $d) = (ord(substr $bytes, 9, 1), substr($bytes, 12, 4), substr($bytes, 16, 4));
        $payload = substr $bytes, 4 * (ord($bytes) & 15);
    } elsif ($version == 6 && length $bytes >= 40) {
        ($number, $s, $d, $payload) = (ord(substr $bytes, 6, 1), substr($bytes, 8, 16), substr($bytes, 24, 16), substr $bytes, 40);
    } else { return }
    my $name = $NAME{$number} or return;
    return if length $payload < 8;
    return if $name eq 'tcp' && (ord(substr $payload, 13, 1) & 0x17) != 2;
    return if $name eq 'sctp' && ord(substr $payload, 12, 1) != 1;
    my $family = $version == 4 ? AF_INET : AF_INET6;
    my ($from, $to) = unpack 'nn', $payload;
    print "got $name ", inet_ntop($family, $s), ' ', inet_ntop($family, $d), " $from $to\n";
}

socket my $in, PF_PACKET, SOCK_DGRAM, unpack('S', pack 'n', ETH_P_ALL) or die "no packet socket: $!";
setsockopt $in, SOL_SOCKET, SO_RCVBUFFORCE, pack 'i', 1 << 26;
print "ready\n";

my ($waiting, $rest) = ('', '');
while (1) {
    vec($waiting, fileno STDIN, 1) = 1;
    vec($waiting, fileno $in, 1) = 1;
    select my $readable = $waiting, undef, undef, undef;
    if (vec $readable, fileno $in, 1) {
        my $from = recv $in, my $bytes, 65536, 0;
        report($bytes) if defined $from && (unpack 'SSlSC', $from)[4] != OUTGOING;
    }
    if (vec $readable, fileno STDIN, 1) {
        sysread STDIN, $rest, 1 << 16, length $rest or last;
        while ($rest =~ s/^(.*)\n//) {
            if ($1 eq 'done') { print "done\n" } else { send_one(split / /, $1) }
        }
    }
}
