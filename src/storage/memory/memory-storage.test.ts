// The memory driver passes the contract of Storage.
import { storageConformance } from '../testing/storage-conformance.ts';
import { MemoryStorage } from './memory-storage.ts';

storageConformance({ name: 'MemoryStorage', open: async (clock) => new MemoryStorage(clock) });
