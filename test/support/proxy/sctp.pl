# SCTP by hand, over raw sockets: the first packet of an association, and the answer to it.
# usage: perl sctp.pl serve ADDRESS...   answers every INIT on port 8080 with an INIT ACK that says who was asked by whom
#        perl sctp.pl ask                for each line "source,destination,port,patienceMs;..." prints "by source;..."
# Guarantees: needs nothing but perl-base; checksums are right, for connection tracking drops packets whose are not.
use strict;
use warnings;
use Socket qw(:DEFAULT inet_pton inet_ntop unpack_sockaddr_in6 pack_sockaddr_in6 AF_INET6);
use POSIX ();

use constant { SCTP => 132, ICMP => 1, ICMPV6 => 58, BEGINS => 1, ANSWERS => 2, STATE_COOKIE => 7, PORT => 8080 };

my @CRC32C = map {
    my $crc = $_;
    $crc = $crc & 1 ? ($crc >> 1) ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
    $crc;
} 0 .. 255;

# Seconds since some moment.
sub now { return (POSIX::times())[0] / POSIX::sysconf(POSIX::_SC_CLK_TCK()) }

sub crc32c {
    my $crc = 0xffffffff;
    $crc = $CRC32C[($crc ^ $_) & 255] ^ ($crc >> 8) for unpack 'C*', $_[0];
    return $crc ^ 0xffffffff;
}

# One chunk; INIT and INIT ACK begin alike: tag, window, streams out and in, first number.
sub packet {
    my ($from, $to, $tag, $type, $cookie) = @_;
    my $padded = $cookie . "\0" x (-length($cookie) % 4);
    my $parameters = $cookie eq '' ? '' : pack('nn', STATE_COOKIE, 4 + length $cookie) . $padded;
    my $length = 20 + ($cookie eq '' ? 0 : 4 + length $cookie);
    my $chunk = pack('CCn NNnnN', $type, 0, $length, 0x1234, 65536, 1, 1, 1) . $parameters;
    my $header = pack 'nnN', $from, $to, $tag;
    return $header . pack('V', crc32c("$header\0\0\0\0$chunk")) . $chunk;
}

# What follows the header of IP in what a raw socket gives: with IPv4 the header is there.
sub payload {
    my ($family, $bytes) = @_;
    return $family == AF_INET ? substr($bytes, 4 * (ord($bytes) & 15)) : $bytes;
}

sub family_of { return $_[0] =~ /:/ ? AF_INET6 : AF_INET }

sub address_of {
    my ($ip) = @_;
    my $packed = inet_pton(family_of($ip), $ip);
    return family_of($ip) == AF_INET ? pack_sockaddr_in(0, $packed) : pack_sockaddr_in6(0, $packed);
}

sub ip_of {
    my ($family, $address) = @_;
    my (undef, $ip) = $family == AF_INET ? unpack_sockaddr_in($address) : unpack_sockaddr_in6($address);
    return inet_ntop($family, $ip);
}

sub raw_socket {
    my ($family, $protocol) = @_;
    socket my $socket, $family, SOCK_RAW, $protocol // SCTP or die "no raw socket: $!";
    return $socket;
}

# What can be read from the sockets within the time, as numbers of sockets.
sub readable {
    my ($sockets, $seconds) = @_;
    my $bits = '';
    vec($bits, fileno $_, 1) = 1 for @$sockets;
    return () if select($bits, undef, undef, $seconds < 0 ? 0 : $seconds) <= 0;
    return grep { vec $bits, fileno $sockets->[$_], 1 } 0 .. $#$sockets;
}

sub serve {
    my @own = @_;
    my @sockets = map { raw_socket(family_of $_) } @own;
    bind $sockets[$_], address_of($own[$_]) or die "cannot bind $own[$_]: $!" for 0 .. $#own;
    print "ready\n";
    while (1) {
        for my $n (readable(\@sockets, 3600)) {
            my $family = family_of $own[$n];
            my $from = recv $sockets[$n], my $bytes, 2048, 0;
            next unless defined $from;
            my ($source, $port, $tag, $sum, $type, undef, undef, $init) = unpack 'nnNVCCnN', payload($family, $bytes);
            next unless $port == PORT && $type == BEGINS;
            my $told = "$own[$n] " . ip_of($family, $from);
            send $sockets[$n], packet(PORT, $source, $init, ANSWERS, $told), 0, $from;
        }
    }
}

my $last = 20000;

# Which of our ports an ICMP message says nobody is on; refusals come with the packet that was refused.
sub refused_port {
    my ($family, $bytes) = @_;
    my $message = payload($family, $bytes);
    my ($type, $code) = unpack 'CC', $message;
    my $is_refusal = $family == AF_INET ? $type == 3 && $code == 3 : $type == 1 && $code == 4;
    return 0 unless $is_refusal;
    my $inner = substr $message, 8;
    my $header = $family == AF_INET ? 4 * (ord($inner) & 15) : 40;
    return length $inner < $header + 2 ? 0 : unpack 'n', substr $inner, $header, 2;
}

# The port it is for, and who answered whom.
sub told {
    my ($packet) = @_;
    my (undef, $port, undef, undef, $type) = unpack 'nnNVC', $packet;
    return (0, '') unless $type == ANSWERS;
    return ($port, substr $packet, 36, unpack('n', substr $packet, 34, 2) - 4);
}

# Every question has a port of its own; those of one source share a socket.
sub ask {
    my %open = map { my @fields = split /,/; (++$last => \@fields) } split /;/, $_[0];
    my @order = sort { $a <=> $b } keys %open;
    my (%by_source, %answers);
    my @sockets = ([AF_INET, raw_socket(AF_INET, ICMP), 1], [AF_INET6, raw_socket(AF_INET6, ICMPV6), 1]);
    for my $question (values %open) {
        my ($source, $destination) = @$question;
        my $family = family_of $destination;
        next if $by_source{"$family $source"};
        my $socket = $by_source{"$family $source"} = raw_socket($family);
        bind $socket, address_of($source) or die "cannot bind $source: $!" if $source ne '';
        push @sockets, [$family, $socket, 0];
    }
    my $begin = now();
    my $again = $begin;
    while (1) {
        my $now = now();
        $now - $begin >= $open{$_}[3] / 1000 and delete $open{$_} for keys %open;
        last unless %open;
        if ($now >= $again) {
            for my $port (keys %open) {
                my ($source, $destination, $to) = @{ $open{$port} };
                my $socket = $by_source{ family_of($destination) . " $source" };
                send $socket, packet($port, $to, 0, BEGINS, ''), 0, address_of($destination);
            }
            $again = $now + 0.5;
        }
        for my $n (readable([map { $_->[1] } @sockets], 0.1)) {
            my ($family, $socket, $is_icmp) = @{ $sockets[$n] };
            next unless defined recv $socket, my $bytes, 2048, 0;
            my ($port, $answer) = $is_icmp ? (refused_port($family, $bytes), 'refused') : told(payload($family, $bytes));
            $answers{$port} = $answer if delete $open{$port};
        }
    }
    return join ';', map { $answers{$_} // 'silence' } @order;
}

$| = 1;
my ($verb, @words) = @ARGV;
serve(@words) if $verb eq 'serve';
while (my $line = <STDIN>) {
    chomp $line;
    print ask($line), "\n";
}
