// PacketFilter by nft: one long-lived `nft -i` for changes in under a millisecond, a fresh nft for long texts.
import {
  type FlowSelector,
  type PacketFilter,
  PacketFilterError,
  type TableOutline,
} from '../packet-filter.ts';
import type { Child, Processes } from '../processes.ts';

/** Its answer comes on stdout after all that the command before it had to say on stderr. */
const marker = 'describe iifname\n';
const markerAnswer = 'meta expression, datatype ifname';
const interactiveMaxBytes = 128 << 10;
const answerTimeoutMs = 30_000;
/** 20,000 elements on a machine that others load. */
const textTimeoutMs = 120_000;

interface Waiting {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const brief = (text: string): string => (text.length > 2000 ? `${text.slice(0, 2000)}…` : text);

/** A transaction of single commands can go to `nft -i` as one line; a block with braces over lines can't. */
function asOneLine(text: string): string | undefined {
  if (text.length > interactiveMaxBytes) return undefined;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.some((line) => !/^(add|delete|flush|destroy) /.test(line) || line.includes(';')))
    return undefined;
  return `${lines.join('; ')}\n`;
}

/** It would write down all that it is told in a file of the user's. */
const noHome = '/nonexistent';

class InteractiveNft {
  readonly #child: Child;
  readonly #queue: Waiting[] = [];
  #stdout = '';
  #stderr = '';
  #limit: NodeJS.Timeout | undefined;
  ended = false;

  constructor(processes: Processes) {
    this.#child = processes.spawn('nft', ['-i'], { env: { HOME: noHome } });
    this.#child.stdout?.on('data', (data: Buffer) => this.#read(data.toString()));
    this.#child.stderr?.on('data', (data: Buffer) => {
      this.#stderr += data.toString();
    });
    this.#child.stdin?.on('error', () => undefined); // its end is seen in `exited`
    this.#child.exited.then(
      (code) => this.#fail(new PacketFilterError(`nft ended with code ${code}: ${brief(this.#stderr)}`)),
      (cause: Error) => this.#fail(new PacketFilterError('nft could not be started', { cause })),
    );
  }

  send(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, resolve, reject });
      if (this.#queue.length === 1) this.#write();
    });
  }

  async close(): Promise<void> {
    this.#child.stdin?.end();
    const limit = setTimeout(() => this.#giveUp(), answerTimeoutMs);
    await this.#child.exited.catch(() => 1);
    clearTimeout(limit);
  }

  #write(): void {
    const next = this.#queue[0];
    if (next === undefined) return;
    this.#stdout = '';
    this.#stderr = '';
    this.#limit = setTimeout(() => this.#giveUp(), answerTimeoutMs);
    this.#child.stdin?.write(`${next.text}${marker}`);
  }

  /** It hangs, or begins anew without end because others change the rules. Nobody waits for its end: it may not come either. */
  #giveUp(): void {
    this.#child.kill('SIGKILL');
    this.#fail(new Error(`nft did not answer for ${answerTimeoutMs / 1000} s and was killed`));
  }

  #read(text: string): void {
    this.#stdout += text;
    if (!this.#stdout.includes(markerAnswer) || !this.#stdout.endsWith('\n')) return;
    this.#stdout = '';
    clearTimeout(this.#limit);
    // stderr was written before the marker's answer; it is read in this turn of the loop at the latest
    setImmediate(() => {
      const done = this.#queue.shift();
      const said = this.#stderr.trim();
      if (said === '') done?.resolve();
      else done?.reject(new PacketFilterError(`nft: ${brief(said)}`));
      this.#write();
    });
  }

  #fail(error: Error): void {
    this.ended = true;
    clearTimeout(this.#limit);
    for (const waiting of this.#queue.splice(0)) waiting.reject(error);
  }
}

async function runText(processes: Processes, text: string): Promise<void> {
  const result = await processes.run('nft', ['-f', '-'], { input: text, timeoutMs: textTimeoutMs });
  if (result.code !== 0) throw new PacketFilterError(`nft: ${brief(result.stderr.toString().trim())}`);
}

/** One line for each rule; what a chain says of itself comes with no rule. */
function isWhole(table: string): boolean {
  const rules: number[] = [];
  let inChain = false;
  for (const line of table.split('\n')) {
    if (!line.startsWith('\t\t')) inChain = line.startsWith('\tchain ');
    if (line.startsWith('\tchain ')) rules.push(0);
    else if (inChain && !/^\t\t(type \w+ hook|comment) /.test(line)) rules[rules.length - 1]! += 1;
  }
  return rules.length > 0 && rules.every((count) => count > 0);
}

/** Without what sets hold: `list tables` reads all of it, 200 ms of processor with 20,000 elements, and this takes 3. */
async function listOutlines(processes: Processes): Promise<Map<string, TableOutline>> {
  const result = await processes.run('nft', ['--stateless', '--terse', 'list', 'ruleset'], {
    timeoutMs: answerTimeoutMs,
  });
  if (result.code !== 0)
    throw new PacketFilterError(`nft list ruleset: ${brief(result.stderr.toString().trim())}`);
  const texts = result.stdout.toString().split(/^(?=table )/m);
  return new Map(
    texts.flatMap((text) => {
      const name = /^table (\S+ \S+) \{/.exec(text)?.[1];
      return name === undefined ? [] : [[name, { isWhole: isWhole(text), text }] as const];
    }),
  );
}

function conntrackArguments(flow: FlowSelector): string[] {
  return [
    '-D',
    '-p',
    flow.protocol,
    ...(flow.destination === undefined ? [] : ['--orig-dst', flow.destination]),
    ...(flow.destinationPort === undefined ? [] : ['--orig-port-dst', String(flow.destinationPort)]),
    ...(flow.redirectedTo === undefined ? [] : ['--dst-nat', flow.redirectedTo]),
  ];
}

async function forgetFlow(processes: Processes, flow: FlowSelector): Promise<void> {
  const args = conntrackArguments(flow);
  const result = await processes.run('conntrack', args);
  const said = result.stderr.toString();
  // "0 flow entries have been deleted" comes with code 1
  if (result.code !== 0 && !said.includes('0 flow entries'))
    throw new PacketFilterError(`conntrack ${args.join(' ')}: ${brief(said.trim())}`);
}

export function linuxPacketFilter(processes: Processes): PacketFilter {
  let interactive: InteractiveNft | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function applyNow(text: string): Promise<void> {
    const line = asOneLine(text);
    if (line === undefined) return runText(processes, text);
    if (interactive === undefined || interactive.ended) interactive = new InteractiveNft(processes);
    return interactive.send(line);
  }
  return {
    apply: (text) => {
      const done = last.then(() => applyNow(text));
      last = done.catch(() => undefined);
      return done;
    },
    tables: async () => [...(await listOutlines(processes)).keys()],
    outlines: () => listOutlines(processes),
    table: async (name) => {
      const result = await processes.run('nft', ['list', 'table', ...name.split(' ')], {
        timeoutMs: answerTimeoutMs,
      });
      if (result.code === 0) return result.stdout.toString();
      const said = result.stderr.toString();
      if (said.includes('No such file or directory')) return undefined;
      throw new PacketFilterError(`nft list table ${name}: ${brief(said.trim())}`);
    },
    forgetFlows: async (flows) => {
      for (const flow of flows) await forgetFlow(processes, flow);
    },
    close: async () => {
      await last;
      await interactive?.close();
    },
  };
}
