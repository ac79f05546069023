// Asks for A and AAAA at once from one socket, as libc does, pair after pair: node dns-pairs.mjs <server> <pairs> <name>
import { createSocket } from 'node:dgram';
import process from 'node:process';

const [server, pairs, name] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const patienceMs = 5000;
const atOnce = 8;
const types = { a: 1, aaaa: 28 };

function question(id, type) {
  const head = Buffer.from([id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  return Buffer.concat([head, ...labels, Buffer.from([0, 0, type, 0, 1])]);
}

/** How many of the two were answered, and whether there was an address. */
function ask(id) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const seen = new Set();
    let addresses = 0;
    const end = () => {
      clearTimeout(timer);
      socket.close();
      resolve({ answered: seen.size, addresses });
    };
    const timer = setTimeout(end, patienceMs);
    socket.on('error', end);
    socket.on('message', (packet) => {
      seen.add(packet.readUInt16BE(0));
      addresses += packet.readUInt16BE(6);
      if (seen.size === 2) end();
    });
    socket.connect(53, server, () => {
      socket.send(question(id, types.a));
      socket.send(question(id + 1, types.aaaa));
    });
  });
}

const result = { pairs, lost: 0, withoutAddress: 0 };
let next = 0;
async function worker() {
  while (next < pairs) {
    const { answered, addresses } = await ask((next++ * 2) % 65_000);
    result.lost += 2 - answered;
    if (addresses === 0) result.withoutAddress++;
  }
}
await Promise.all(Array.from({ length: atOnce }, worker));
process.stdout.write(JSON.stringify(result));
