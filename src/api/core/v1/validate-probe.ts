// Probes and lifecycle handlers.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import type { IntOrString } from '../../../apimachinery/int-or-string.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, nonNegative, oneOf } from '../../../apimachinery/validation/checks.ts';
import { isPort, portName, portRange } from '../../../apimachinery/validation/names.ts';
import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  Probe,
  SleepAction,
  TCPSocketAction,
} from '../../generated/types/core-v1.ts';

export function portOrName(field: string, port: IntOrString = 0): Errors {
  if (typeof port === 'string')
    return port === '' ? [invalid(field, port, portRange)] : each(field, port, portName);
  return isPort(port) ? [] : [invalid(field, port, portRange)];
}

interface Handlers {
  readonly exec?: ExecAction;
  readonly httpGet?: HTTPGetAction;
  readonly tcpSocket?: TCPSocketAction;
  readonly grpc?: GRPCAction;
  readonly sleep?: SleepAction;
}

/** How long a pod may take to end; undefined when it does not say. */
export type Seconds = number | bigint | undefined;

/** What each handler must say, in upstream's order. */
const handlerRules: {
  readonly [Kind in keyof Handlers]-?: (
    at: string,
    action: Decoded<NonNullable<Handlers[Kind]>>,
    grace: Seconds,
  ) => Errors;
} = {
  exec: (at, { command = [] }) => (command.length === 0 ? [required(`${at}.command`)] : []),
  httpGet: (at, { path, port, scheme, httpHeaders = [] }) => [
    ...(path ? [] : [required(`${at}.path`)]),
    ...portOrName(`${at}.port`, port),
    ...oneOf(`${at}.scheme`, scheme, ['HTTP', 'HTTPS']),
    ...httpHeaders.flatMap(({ name = '' }) =>
      /^[-A-Za-z0-9]+$/.test(name)
        ? []
        : [
            invalid(
              `${at}.httpHeaders`,
              name,
              "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
            ),
          ],
    ),
  ],
  tcpSocket: (at, { port }) => portOrName(`${at}.port`, port),
  grpc: (at, { port = 0 }) => (isPort(port) ? [] : [invalid(`${at}.port`, port, portRange)]),
  sleep: (at, { seconds = 0 }, grace) =>
    grace !== undefined && (seconds < 0 || seconds > grace)
      ? [invalid(at, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${grace})`)]
      : [],
};
const handlers = Object.keys(handlerRules) as (keyof Handlers)[];

function handlerErrors(field: string, handler: Decoded<Handlers>, grace: Seconds): Errors {
  const given = handlers.filter((kind) => handler[kind] !== undefined);
  const [kind, ...more] = given;
  if (kind === undefined) return [required(field, 'must specify a handler type')];
  return [
    ...more.map((extra) => forbidden(`${field}.${extra}`, 'may not specify more than 1 handler type')),
    ...handlerRules[kind](`${field}.${kind}`, handler[kind] as never, grace),
  ];
}

const notNegative = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

export function validateProbe(
  field: string,
  probe: Decoded<Probe> | undefined,
  kind: 'liveness' | 'readiness' | 'startup',
): Errors {
  if (probe === undefined) return [];
  const errors = handlerErrors(field, probe, undefined);
  for (const name of notNegative) errors.push(...nonNegative(`${field}.${name}`, probe[name]));
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    errors.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  if (kind === 'readiness' && grace !== undefined)
    errors.push(
      invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'),
    );
  const { successThreshold = 0 } = probe;
  if (kind !== 'readiness' && successThreshold !== 1)
    errors.push(invalid(`${field}.successThreshold`, successThreshold, 'must be 1'));
  return errors;
}

export function validateLifecycle(
  field: string,
  lifecycle: Decoded<Lifecycle> | undefined,
  grace: Seconds,
): Errors {
  if (lifecycle === undefined) return [];
  return (['postStart', 'preStop'] as const).flatMap((hook) =>
    lifecycle[hook] === undefined ? [] : handlerErrors(`${field}.${hook}`, lifecycle[hook], grace),
  );
}
