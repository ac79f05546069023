// A small server and client for network tests, run inside a pod's or node's namespace.
//   serve NAME TCPPORT UDPPORT   answers `NAME <address of the client>`; prints `ready`
//   tcp HOST PORT COUNT          prints a JSON list of answers or error codes
//   udp HOST PORT COUNT [LOCALPORT]
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';

const [mode, ...args] = process.argv.slice(2);
const timeoutMs = 1500;

function serve(name, tcpPort, udpPort) {
  createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.end(`${name} ${socket.remoteAddress}`);
  }).listen(Number(tcpPort), '0.0.0.0', () => {
    const udp = createSocket('udp4');
    udp.on('message', (_, from) => udp.send(`${name} ${from.address}`, from.port, from.address));
    udp.bind(Number(udpPort), () => console.log('ready'));
  });
}

function tcp(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: timeoutMs });
    let text = '';
    const end = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('end', () => end(text));
    socket.on('timeout', () => end('TIMEOUT'));
    socket.on('error', (error) => end(error.code));
  });
}

function udp(host, port, localPort) {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (answer) => {
      clearTimeout(timer);
      socket.close(() => resolve(answer));
    };
    const timer = setTimeout(() => end('TIMEOUT'), timeoutMs);
    socket.on('message', (data) => end(String(data)));
    socket.on('error', (error) => end(error.code));
    socket.bind(Number(localPort ?? 0), () => socket.connect(Number(port), host, () => socket.send('x')));
  });
}

if (mode === 'serve') serve(...args);
else {
  const [host, port, count, localPort] = args;
  const answers = [];
  for (let i = 0; i < Number(count); i++)
    answers.push(await (mode === 'tcp' ? tcp(host, port) : udp(host, port, localPort)));
  console.log(JSON.stringify(answers));
}
