// Packets that lie about who sends them, and a place where it is seen which of them arrive.
import { fileURLToPath } from 'node:url';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import type { Child, Processes } from '../../src/os/processes.ts';

/** The compiled test/security/programs/spoof.c. */
export const buildSpoof = (folder: string): Promise<string> =>
  buildNative(linuxProcesses, folder, {
    name: 'spoof',
    target: 'linux',
    source: fileURLToPath(new URL('../security/programs/spoof.c', import.meta.url)),
  });

/** `got`: `ready`, then the datagrams that arrive in the namespace, as `text from address`. */
export function startSink(from: Processes, port: number): { readonly got: string[]; readonly child: Child } {
  const script = `const s=require('dgram').createSocket('udp4');
    s.on('message',(m,r)=>console.log(m+' from '+r.address));s.bind(${port},()=>console.log('ready'))`;
  const got: string[] = [];
  const child = from.spawn(process.execPath, ['-e', script]);
  child.stdout?.on('data', (data: Buffer) => got.push(...data.toString().trim().split('\n')));
  return { got, child };
}
