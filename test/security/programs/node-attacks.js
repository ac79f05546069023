// node-attacks.js WAYS PATH...: what a program of Node in a Windows pod tries to reach files and sockets of its machine.
// WAYS is JSON: names to texts in which * stands for a path, as Linux writes it or with backslashes. Prints JSON.
'use strict';
const fs = require('node:fs');
const net = require('node:net');

const [ways, ...paths] = process.argv.slice(2);

const outcomeOf = (attempt) => {
  try {
    attempt();
    return 'done';
  } catch (error) {
    return error.code ?? String(error);
  }
};

const connectionTo = (path) =>
  new Promise((resolve) => {
    const socket = net.connect({ path });
    socket.on('connect', () => resolve('done'));
    socket.on('error', ({ code }) => resolve(code));
  }).catch(({ code }) => code);

/** The pod's own drives are links in its own prefix. */
const makeDrives = () => {
  for (const [drive, target] of [
    ['y:', '\\\\?\\unix\\'],
    ['x:', '\\\\?\\unix\\proc\\1\\root'],
  ])
    outcomeOf(() => fs.symlinkSync(target, `\\\\?\\unix\\wp\\dosdevices\\${drive}`));
};

async function main() {
  makeDrives();
  const answers = {};
  for (const [name, way] of Object.entries(JSON.parse(ways))) {
    answers[name] = [];
    for (const path of paths) {
      const target = way.includes('\\') ? way.replace('*', path.replaceAll('/', '\\')) : way.replace('*', path);
      answers[name].push({
        path,
        open: outcomeOf(() => fs.closeSync(fs.openSync(target, 'r'))),
        list: outcomeOf(() => fs.readdirSync(target)),
        write: outcomeOf(() => fs.writeFileSync(`${target}/porthole-attack`, '')),
        connect: await connectionTo(target),
      });
    }
  }
  console.log(JSON.stringify(answers));
}

main();
