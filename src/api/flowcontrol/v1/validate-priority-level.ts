// PriorityLevelConfigurations: how many seats a level has, and who waits when there is none.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { type Errors, oneOf } from '../../../apimachinery/validation/checks.ts';
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../generated/types/flowcontrol-v1.ts';
import { fixedPriorityLevels, staysAsItIs } from './fixed-objects.ts';

const maxQueues = 10_000_000;
const maxEntropyBits = 60;

/** How many bits deal a hand, as upstream reckons them. */
const entropyBits = (deckSize: number, handSize: number): number => Math.ceil(Math.log2(deckSize) * handSize);

function shareErrors(part: Decoded<LimitedPriorityLevelConfiguration>, at: string): Errors {
  const errors: Errors = [];
  const shares = part.nominalConcurrencyShares ?? 0;
  if (shares < 0)
    errors.push(invalid(`${at}.nominalConcurrencyShares`, shares, 'must be a non-negative integer'));
  const lendable = part.lendablePercent ?? 0;
  if (lendable < 0 || lendable > 100)
    errors.push(invalid(`${at}.lendablePercent`, lendable, 'must be between 0 and 100, inclusive'));
  return errors;
}

function queuingErrors(queuing: Decoded<QueuingConfiguration>, at: string): Errors {
  const { queueLengthLimit: length = 0, queues = 0, handSize: hand = 0 } = queuing;
  const errors: Errors = [];
  if (length <= 0) errors.push(invalid(`${at}.queueLengthLimit`, length, 'must be positive'));
  if (queues <= 0) errors.push(invalid(`${at}.queues`, queues, 'must be positive'));
  else if (queues > maxQueues)
    errors.push(invalid(`${at}.queues`, queues, `must not be greater than ${maxQueues}`));
  if (hand <= 0) errors.push(invalid(`${at}.handSize`, hand, 'must be positive'));
  else if (hand > queues)
    errors.push(invalid(`${at}.handSize`, hand, `should not be greater than queues (${queues})`));
  else if (entropyBits(queues, hand) > maxEntropyBits)
    errors.push(
      invalid(
        `${at}.handSize`,
        hand,
        `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${maxEntropyBits}`,
      ),
    );
  return errors;
}

function responseErrors(response: Decoded<LimitResponse>, at: string): Errors {
  const queuing = response.queuing;
  const path = `${at}.queuing`;
  switch (response.type) {
    case 'Reject':
      return queuing !== undefined
        ? [forbidden(path, 'must be nil if limited.limitResponse.type is not Limited')]
        : [];
    case 'Queue':
      return queuing !== undefined
        ? queuingErrors(queuing, path)
        : [required(path, 'must not be empty if limited.limitResponse.type is Limited')];
    default:
      return oneOf(`${at}.type`, response.type, ['Queue', 'Reject']);
  }
}

function limitedErrors(limited: Decoded<LimitedPriorityLevelConfiguration> | undefined, at: string): Errors {
  if (limited === undefined) return [required(at, 'must not be empty when type is Limited')];
  const borrowing = limited.borrowingLimitPercent ?? 0;
  return [
    ...shareErrors(limited, at),
    ...(borrowing < 0
      ? [invalid(`${at}.borrowingLimitPercent`, borrowing, 'if specified, must be a non-negative integer')]
      : []),
    ...responseErrors(limited.limitResponse ?? {}, `${at}.limitResponse`),
  ];
}

export function validatePriorityLevel(level: Decoded<PriorityLevelConfiguration>): Errors {
  const { type, limited, exempt } = level.spec ?? {};
  const errors: Errors = [];
  if ((level.metadata?.name === 'exempt') !== (type === 'Exempt'))
    errors.push(invalid('spec.type', type ?? '', "type must be 'Exempt' if and only if name is 'exempt'"));
  if (type === 'Exempt') {
    if (limited !== undefined)
      errors.push(forbidden('spec.limited', 'must be nil if the type is not Limited'));
    if (exempt !== undefined) errors.push(...shareErrors(exempt, 'spec.exempt'));
  } else if (type === 'Limited') {
    if (exempt !== undefined) errors.push(forbidden('spec.exempt', 'must be nil if the type is Limited'));
    errors.push(...limitedErrors(limited, 'spec.limited'));
  } else errors.push(...oneOf('spec.type', type, ['Exempt', 'Limited']));
  return [...errors, ...staysAsItIs(fixedPriorityLevels, level)];
}
