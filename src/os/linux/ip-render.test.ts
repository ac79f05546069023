// Changes of links and routes as text for ip, from which nothing breaks out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderLinkChange } from './ip-render.ts';

test('changes are written as lines of ip -batch', () => {
  assert.equal(
    renderLinkChange({
      do: 'addVeth',
      name: 'ph1',
      mac: 'ee:ee:ee:ee:ee:ee',
      mtu: 1450,
      peer: { name: 'eth0', netns: '/run/netns/x' },
    }),
    'link add name ph1 address ee:ee:ee:ee:ee:ee mtu 1450 type veth peer name eth0 netns /run/netns/x',
  );
  assert.equal(
    renderLinkChange({ do: 'replaceRoute', to: '10.1.0.0/24', via: '10.0.0.2', protocol: 80 }),
    'route replace 10.1.0.0/24 via 10.0.0.2 proto 80',
  );
  assert.equal(
    renderLinkChange({ do: 'replaceRoute', to: '10.1.0.0/24', unreachable: true }),
    'route replace unreachable 10.1.0.0/24',
  );
  assert.equal(
    renderLinkChange({ do: 'replaceAddress', name: 'lo', address: '10.96.0.10/32', scope: 'host' }),
    'address replace 10.96.0.10/32 dev lo scope host',
  );
});

test('nothing can break out of its line or word', () => {
  const bad = ['a\nlink delete eth0', 'a b', '', '../x', '-batch x', 'a'.repeat(16), 'x;y', 'x\0'];
  for (const name of bad)
    assert.throws(() => renderLinkChange({ do: 'deleteLink', name }), /not a valid/, name);
  for (const address of ['', 'x;y', '-4', 'a b', '10.0.0.1 dev lo', '10.0.0.1/24\n', 'default'])
    assert.throws(() => renderLinkChange({ do: 'replaceAddress', name: 'eth0', address }), /not a valid/);
  assert.throws(() => renderLinkChange({ do: 'setLink', name: 'eth0', mtu: 1.5 }), /not a valid/);
  assert.throws(() => renderLinkChange({ do: 'setLink', name: 'eth0', mac: 'ee:ee' }), /not a valid/);
  assert.throws(
    () => renderLinkChange({ do: 'addVeth', name: 'a', peer: { name: 'b', netns: 'x y' } }),
    /not a valid/,
  );
});
