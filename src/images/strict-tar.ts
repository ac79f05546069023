// A tar reader that refuses what Go's archive/tar, by which containerd reads the same bytes, would read as something else.
import type { Readable } from 'node:stream';
import { type Extract, extract, type Header } from 'tar-stream';
import { ImageError } from './image-index.ts';

/** Go takes no account of a size that these say they have: what follows is the next header. */
const withoutContent: ReadonlySet<string> = new Set([
  'link',
  'symlink',
  'character-device',
  'block-device',
  'fifo',
]);

type Records = Readonly<Record<string, string>> | null;

/** What tar-stream 3 holds of the headers before an entry; it tells its users of some of it only. */
interface LongHeaders {
  _header: Header;
  _pax: Records;
  _paxGlobal: Records;
  _gnuLongPath: string | null;
  _gnuLongLinkPath: string | null;
  _applyLongHeaders(): void;
}

const refuse = (what: string): never => {
  throw new ImageError(`a tar header ${what}`);
};

function checkLongHeaders({ _pax, _paxGlobal, _gnuLongPath, _gnuLongLinkPath }: LongHeaders): void {
  // Go passes global records on to whoever asks for them, and names nothing by them.
  if (_paxGlobal && ['path', 'linkpath', 'size'].some((key) => key in _paxGlobal))
    refuse('gives a name or a size to all entries');
  // Go believes the GNU header, tar-stream the records.
  if ((_gnuLongPath && _pax?.['path']) || (_gnuLongLinkPath && _pax?.['linkpath']))
    refuse('has two long names for one entry');
  if (_pax && Object.keys(_pax).some((key) => key.startsWith('GNU.sparse.')))
    refuse('tells of a sparse file, which has another name and size');
}

function checkHeader({ type, size }: Header): void {
  if (type == null) refuse('has an unknown type');
  if ((size ?? 0) > 0 && withoutContent.has(String(type))) refuse(`of a ${String(type)} has a size`);
}

/** Fails with ImageError at an entry that others read otherwise, before anybody is told of it. */
export function strictTar(source: Readable): Extract {
  const tar = extract();
  const held = tar as unknown as LongHeaders;
  const apply = held._applyLongHeaders;
  held._applyLongHeaders = () => {
    try {
      checkLongHeaders(held);
      apply.call(held);
      checkHeader(held._header);
    } catch (error) {
      tar.destroy(error as Error);
    }
  };
  source.on('error', (error) => tar.destroy(error));
  return source.pipe(tar);
}
