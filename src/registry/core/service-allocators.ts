// Cluster IPs and node ports for one Service: taken by their records, or refused in upstream's words.
import { servicecidrs } from '../../api/generated/resources.ts';
import type { Service } from '../../api/generated/types/core-v1.ts';
import { internalError, invalidObject, type StatusError } from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Undo } from '../../apiserver/registry/write-hooks.ts';
import { parseIp } from '../../base/ip.ts';
import type { PortRange } from '../../base/port-range.ts';
import type { Random } from '../../base/random.ts';
import { givesAddress } from '../../component-helpers/service-cidrs.ts';
import type { Claims, Owner } from './claims.ts';
import { freeNumber, type NumberRange, reservedBand } from './free-number.ts';
import type { ServiceClaims } from './service-claims.ts';
import { healthCheckField, type PortWish } from './service-ports.ts';
import { addressAt, rangeOf, readyPrefixes } from './service-ranges.ts';

export interface AllocatorDeps extends ServiceClaims {
  readonly live: LiveObjects;
  readonly random: Random;
  readonly portRange: PortRange;
}

/** For whom, and whether it is only asked what would be. */
export interface Taker {
  readonly service: Service;
  readonly owner: Owner;
  readonly dryRun: boolean;
  /** Takes back what was taken, when the write fails. */
  readonly undo: Undo[];
}

const noUndo: Undo = async () => {};

function refusal({ owner }: Taker, field: string, value: unknown, why: string): StatusError {
  return invalidObject({ group: '', kind: 'Service' }, owner.name, [invalid(field, value, why)]);
}

/** False: another has it. In a dry run nothing is taken, and only what this server knows of counts. */
async function take(claims: Claims, name: string, { owner, dryRun, undo }: Taker): Promise<boolean> {
  const release = dryRun ? (claims.isTaken(name) ? undefined : noUndo) : await claims.take(name, owner);
  if (release !== undefined) undo.push(release);
  return release !== undefined;
}

/** Any number of the ranges; undefined when all are taken. Another server may have taken what looks free: then the next. */
async function takeAny(
  claims: Claims,
  ranges: readonly NumberRange[],
  taker: Taker,
  { random, nameOf, leave }: { random: Random; nameOf: (number: number) => string; leave: readonly number[] },
): Promise<number | undefined> {
  const lost = new Set(leave);
  const isTaken = (number: number): boolean => lost.has(number) || claims.isTaken(nameOf(number));
  for (const range of ranges)
    for (;;) {
      const number = freeNumber(range, isTaken, random);
      if (number === undefined) break;
      if (await take(claims, nameOf(number), taker)) return number;
      lost.add(number);
    }
  return undefined;
}

export async function takeClusterIp(deps: AllocatorDeps, taker: Taker): Promise<void> {
  const { spec } = taker.service;
  if (spec === undefined) return;
  const prefixes = readyPrefixes(deps.live.list(servicecidrs));
  const asked = spec.clusterIP ?? '';
  if (asked !== '') {
    const why = !givesAddress(prefixes, asked)
      ? 'the provided network does not match the current range'
      : (await take(deps.addresses, asked, taker))
        ? undefined
        : 'provided IP is already allocated';
    if (why === undefined) return;
    throw refusal(
      taker,
      'spec.clusterIPs',
      spec.clusterIPs ?? [asked],
      `failed to allocate IP ${asked}: ${why}`,
    );
  }
  const found = await takeAny(deps.addresses, prefixes.map(rangeOf), taker, {
    random: deps.random,
    nameOf: addressAt,
    leave: [],
  });
  if (found === undefined) throw internalError('failed to allocate a serviceIP: range is full');
  spec.clusterIP = addressAt(found);
  spec.clusterIPs = [spec.clusterIP];
}

export async function takePorts(
  deps: AllocatorDeps,
  wishes: readonly PortWish[],
  taker: Taker,
): Promise<void> {
  const leave = wishes.flatMap(({ asked }) => asked ?? []);
  await allDone(wishes.map((wish) => takePort(deps, wish, leave, taker)));
}

async function takePort(
  { ports, portRange: { first, last }, random }: AllocatorDeps,
  { asked, field, give }: PortWish,
  leave: readonly number[],
  taker: Taker,
): Promise<void> {
  if (asked === undefined) {
    const range = { first, last, reserved: reservedBand(last - first + 1, 32, 128) };
    const found = await takeAny(ports, [range], taker, { random, nameOf: String, leave });
    const what = field === healthCheckField ? 'HealthCheck NodePort 0' : 'nodePort';
    if (found === undefined) throw internalError(`failed to allocate a ${what}: range is full`);
    give(found);
    return;
  }
  const why =
    asked < first || asked > last
      ? `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
      : (await take(ports, String(asked), taker))
        ? undefined
        : 'provided port is already allocated';
  if (why === undefined) return;
  if (field === healthCheckField)
    throw internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${why}`);
  throw refusal(taker, field, asked, why);
}

/** Side by side, so that they share a sync of the store. The first refusal is thrown when all have ended: then all can be undone. */
export async function allDone(works: readonly Promise<void>[]): Promise<void> {
  const ended = await Promise.allSettled(works);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
}

/** Of a canonical text: 10.96.0.01 is no name of a record. */
export const isAddress = (text: string | undefined): text is string =>
  text !== undefined && parseIp(text)?.family === 4;
