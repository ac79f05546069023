// Probes and lifecycle handlers.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { arr, isObject, num, obj, objs, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, nonNegative, oneOf } from '../../../apimachinery/validation/checks.ts';
import { isPort, portName, portRange } from '../../../apimachinery/validation/names.ts';

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];

export function portOrName(field: string, port: Json | undefined): Errors {
  if (typeof port === 'string')
    return port === '' ? [invalid(field, port, portRange)] : each(field, port, portName);
  return isPort(port) ? [] : [invalid(field, port ?? 0, portRange)];
}

function handlerErrors(field: string, handler: JsonObject): Errors {
  const errors: Errors = [];
  const given = handlers.filter((h) => isObject(handler[h]));
  if (given.length === 0) return [required(field, 'must specify a handler type')];
  for (const extra of given.slice(1))
    errors.push(forbidden(`${field}.${extra}`, 'may not specify more than 1 handler type'));
  const [kind = ''] = given;
  const action = obj(handler[kind]);
  const at = `${field}.${kind}`;
  if (kind === 'exec' && arr(action['command']).length === 0) errors.push(required(`${at}.command`));
  if (kind === 'httpGet') {
    if (str(action['path']) === '') errors.push(required(`${at}.path`));
    errors.push(
      ...portOrName(`${at}.port`, action['port']),
      ...oneOf(`${at}.scheme`, action['scheme'], ['HTTP', 'HTTPS']),
    );
    objs(action['httpHeaders']).forEach((header, i) => {
      if (!/^[-A-Za-z0-9]+$/.test(str(header['name'])))
        errors.push(
          invalid(
            `${at}.httpHeaders[${i}].name`,
            header['name'] ?? '',
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
          ),
        );
    });
  }
  if (kind === 'tcpSocket') errors.push(...portOrName(`${at}.port`, action['port']));
  if (kind === 'grpc' && !isPort(action['port']))
    errors.push(invalid(`${at}.port`, action['port'] ?? 0, portRange));
  if (kind === 'sleep' && num(action['seconds']) < 0)
    errors.push(invalid(`${at}.seconds`, action['seconds'], 'must be a non-negative integer'));
  return errors;
}

export function validateProbe(
  field: string,
  probe: Json | undefined,
  kind: 'liveness' | 'readiness' | 'startup',
): Errors {
  if (!isObject(probe)) return [];
  const errors = handlerErrors(field, probe);
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ])
    errors.push(...nonNegative(`${field}.${name}`, probe[name]));
  const grace = probe['terminationGracePeriodSeconds'];
  if (grace !== undefined && num(grace) <= 0)
    errors.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  if (kind === 'readiness' && grace !== undefined)
    errors.push(
      invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'),
    );
  if (kind !== 'readiness' && num(probe['successThreshold']) !== 1)
    errors.push(invalid(`${field}.successThreshold`, probe['successThreshold'] ?? 0, 'must be 1'));
  return errors;
}

export function validateLifecycle(field: string, lifecycle: Json | undefined): Errors {
  if (!isObject(lifecycle)) return [];
  return ['postStart', 'preStop'].flatMap((hook) =>
    isObject(lifecycle[hook]) ? handlerErrors(`${field}.${hook}`, lifecycle[hook]) : [],
  );
}
