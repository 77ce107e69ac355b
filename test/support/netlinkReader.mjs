// Prints the links, IPv4 and IPv6 addresses and routes of the network namespace it runs in, as the npm package netlink
// reads them. usage: node netlinkReader.mjs
import { createRtNetlink } from 'netlink';

const MAIN = 254;
const colons = (bytes) => bytes?.toString('hex').replace(/(..)(?!$)/g, '$1:');
/** The kernel's bytes: four decimal numbers, or sixteen bytes in hexadecimal. */
const ip = (bytes) => (bytes?.length === 4 ? [...bytes].join('.') : bytes?.toString('hex'));

const socket = createRtNetlink();
// One question after the other: the package mixes up the answers of two.
const links = await socket.getLinks();
const addresses = await socket.getAddresses();
const routes = await socket.getRoutes();
const nameOf = (index) => links.find(({ data }) => data.index === index)?.attrs.ifname;

const read = {
  links: links.map(({ data, attrs }) => ({
    name: attrs.ifname,
    up: data.flags.up === true,
    mtu: attrs.mtu,
    mac: colons(attrs.address),
    master: nameOf(attrs.master),
  })),
  addresses: addresses.map(({ data, attrs }) => ({
    dev: nameOf(data.index),
    address: `${ip(attrs.local ?? attrs.address)}/${data.prefixlen}`,
  })),
  routes: routes
    .filter(({ data, attrs }) => (attrs.table ?? data.table) === MAIN)
    .map(({ data, attrs }) => ({
      destination: `${ip(attrs.dst) ?? 'default'}/${data.dstLen}`,
      gateway: ip(attrs.gateway),
      dev: nameOf(attrs.oif),
      metric: attrs.priority,
      protocol: data.protocol,
      scope: data.scope,
    })),
};
process.stdout.write(JSON.stringify(read));
process.exit(0);
