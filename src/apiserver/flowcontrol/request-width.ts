// How many seats a request takes: one, but for lists of many objects, as upstream estimates them.
import { queryBoolean } from '../query.ts';
import type { RequestInfo } from '../request-info.ts';

const objectsPerSeat = 100;
const maxListSeats = 10;

const collectionVerbs: readonly string[] = ['list', 'deletecollection'];

/** Such a watch has its seats while it sends what a list would. */
function beginsWithAll(query: URLSearchParams): boolean {
  const asked = queryBoolean(query, 'sendInitialEvents');
  return asked ?? ['', '0'].includes(query.get('resourceVersion') ?? '');
}

/** Watches have no pages, and neither has a list for which whatever is there will do. */
function isWhole({ verb }: RequestInfo, query: URLSearchParams): boolean {
  return verb === 'watch' || (query.get('resourceVersion') === '0' && (query.get('continue') ?? '') === '');
}

/** `count` tells how many objects there are of the resource; a limit counts when no selector has to be tried on each. */
export function widthOf(info: RequestInfo, query: () => URLSearchParams, count: () => number): number {
  if (!info.isResource || info.name !== '') return 1;
  if (info.verb === 'watch' ? !beginsWithAll(query()) : !collectionVerbs.includes(info.verb)) return 1;
  const stored = count();
  if (stored <= objectsPerSeat) return 1;
  const asked = Number(query().get('limit') ?? 0);
  const selects = (query().get('labelSelector') ?? '') !== '' || (query().get('fieldSelector') ?? '') !== '';
  const read = asked > 0 && !selects && !isWhole(info, query()) ? Math.min(asked, stored) : stored;
  return Math.max(1, Math.min(maxListSeats, Math.ceil(read / objectsPerSeat)));
}
