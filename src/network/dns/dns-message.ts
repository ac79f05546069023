// Reads a DNS question strictly and writes answers that fit: pure.
import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  type OptAnswer,
  type Packet,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
} from 'dns-packet';

export const rcode = { noError: 0, formErr: 1, servFail: 2, nxDomain: 3, notImp: 4, refused: 5 } as const;
export type Rcode = (typeof rcode)[keyof typeof rcode];

export interface DnsQuestion {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly recursionDesired: boolean;
  /** Undefined without EDNS. */
  readonly ednsPayloadBytes: number | undefined;
}

export type ReadQuestion =
  | { readonly kind: 'question'; readonly question: DnsQuestion }
  /** Answer with this code. */
  | { readonly kind: 'refuse'; readonly id: number; readonly rcode: Rcode; readonly edns: boolean }
  /** Too short to answer, or itself an answer. */
  | { readonly kind: 'ignore' };

const headerBytes = 12;
/** What fits everywhere without fragments; the bound that DNS Flag Day 2020 asks for. */
const ownPayloadBytes = 1232;
const opcodeOf = (flags: number): number => (flags >> 11) & 15;

function decodeOrUndefined(packet: Buffer): DecodedPacket | undefined {
  try {
    return decode(packet);
  } catch {
    return undefined; // any bytes may come
  }
}

export function readQuestion(packet: Buffer): ReadQuestion {
  if (packet.length < headerBytes) return { kind: 'ignore' };
  const id = packet.readUInt16BE(0);
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) !== 0) return { kind: 'ignore' };
  const refuse = (code: Rcode, edns = false): ReadQuestion => ({ kind: 'refuse', id, rcode: code, edns });
  if (opcodeOf(flags) !== 0) return refuse(rcode.notImp);
  if (packet.readUInt16BE(4) !== 1) return refuse(rcode.formErr);
  const decoded = decodeOrUndefined(packet);
  const question = decoded?.questions?.[0];
  if (decoded === undefined || question === undefined || question.name.length > 255)
    return refuse(rcode.formErr);
  const options = (decoded.additionals ?? []).filter((record) => record.type === 'OPT') as OptAnswer[];
  if (options.length > 1) return refuse(rcode.formErr);
  const [opt] = options;
  if ((question.class ?? 'IN') !== 'IN' && question.class !== 'ANY')
    return refuse(rcode.refused, opt !== undefined);
  return {
    kind: 'question',
    question: {
      id,
      name: question.name,
      type: String(question.type),
      recursionDesired: (flags & RECURSION_DESIRED) !== 0,
      ednsPayloadBytes: opt === undefined ? undefined : (opt.udpPayloadSize ?? 512),
    },
  };
}

export interface DnsReply {
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  readonly answers: readonly Answer[];
  readonly authorities?: readonly Answer[];
  readonly additionals?: readonly Answer[];
}

/** dns-packet has the option's fields in a type that asks for more than it needs. */
const ownOption = (): Answer =>
  ({
    type: 'OPT',
    name: '.',
    udpPayloadSize: ownPayloadBytes,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }) as unknown as Answer;

function encodeReply(question: DnsQuestion, reply: DnsReply, truncated: boolean): Buffer {
  const option = question.ednsPayloadBytes === undefined ? [] : [ownOption()];
  const packet: Packet = {
    type: 'response',
    id: question.id,
    flags:
      reply.rcode |
      RECURSION_AVAILABLE |
      (question.recursionDesired ? RECURSION_DESIRED : 0) |
      (reply.authoritative ? AUTHORITATIVE_ANSWER : 0) |
      (truncated ? TRUNCATED_RESPONSE : 0),
    questions: [{ name: question.name, type: question.type as 'A', class: 'IN' }],
    answers: [...reply.answers],
    authorities: [...(reply.authorities ?? [])],
    additionals: [...(reply.additionals ?? []), ...option],
  };
  return encode(packet);
}

const replyLimit = (question: DnsQuestion, transport: 'udp' | 'tcp'): number =>
  transport === 'tcp' ? 65_535 : Math.min(4096, Math.max(512, question.ednsPayloadBytes ?? 512));

/** So many records of this name, with the least data there is, do not fit: nobody needs to make more of them. */
export const answersTooMany = (name: string, question: DnsQuestion, transport: 'udp' | 'tcp'): number =>
  Math.floor(replyLimit(question, transport) / (name.length + 15)) + 1;

/** The root's name, type, class, time to live, length and one byte: no record of use is shorter. */
const leastRecordBytes = 12;

/**
 * It fits what the client takes: additionals go first, then answers, and the client is told to ask by TCP. What can't fit is
 * not written to find that out: a Service may have thousands of ports, and anybody may ask for them.
 */
export function writeReply(question: DnsQuestion, reply: DnsReply, transport: 'udp' | 'tcp'): Buffer {
  const limit = replyLimit(question, transport);
  const most = Math.floor(limit / leastRecordBytes);
  const bare = { ...reply, answers: reply.answers.slice(0, most), additionals: [] };
  const isWhole = bare.answers.length === reply.answers.length;
  if (isWhole && reply.answers.length + (reply.additionals?.length ?? 0) <= most) {
    const whole = encodeReply(question, reply, false);
    if (whole.length <= limit) return whole;
  }
  let bytes = encodeReply(question, bare, !isWhole);
  let count = bare.answers.length;
  while (bytes.length > limit && count > 0) {
    // Records of one answer are much of a size: the first guess is close.
    count = Math.min(count - 1, Math.floor((count * limit) / bytes.length));
    bytes = encodeReply(question, { ...bare, answers: bare.answers.slice(0, count) }, true);
  }
  return bytes;
}

export function writeRefusal(id: number, code: Rcode): Buffer {
  return encode({ type: 'response', id, flags: code | RECURSION_AVAILABLE });
}

/** Whether an upstream's packet answers what was asked: same question, an answer at all. */
export function answersQuestion(
  answer: Buffer,
  id: number,
  question: DnsQuestion,
): DecodedPacket | undefined {
  if (answer.length < headerBytes || answer.readUInt16BE(0) !== id) return undefined;
  if ((answer.readUInt16BE(2) & 0x8000) === 0) return undefined;
  const decoded = decodeOrUndefined(answer);
  const echoed = decoded?.questions?.[0];
  if (decoded === undefined || echoed?.name.toLowerCase() !== question.name.toLowerCase()) return undefined;
  return String(echoed.type) === question.type ? decoded : undefined;
}

export const encodeQuery = (id: number, name: string, type: string): Buffer =>
  encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED,
    questions: [{ name, type: type as 'A', class: 'IN' }],
    additionals: [ownOption()],
  });
