// Control groups come and go while they are looked at.

/** A group that has gone has nothing left; a threaded one (v2) can't be read, and what it has is told by its parent. */
const gone = ['ENOENT', 'ENODEV', 'EOPNOTSUPP'];

export async function whileThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (gone.includes((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}
