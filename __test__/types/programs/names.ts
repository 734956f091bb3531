// Every name of @types/ws, by import.
import type Default from 'ws';
import type { WebSocket } from 'ws';
import * as all from 'ws';

export type {
  AddressInfo,
  CertMeta,
  ClientOptions,
  CloseEvent,
  Data,
  ErrorEvent,
  Event,
  EventListenerOptions,
  FinishRequestCallback,
  MessageEvent,
  PerMessageDeflateOptions,
  RawData,
  Server,
  ServerOptions,
  VerifyClientCallbackAsync,
  VerifyClientCallbackSync,
  WebSocketServer,
} from 'ws';
export type Names = [Default, WebSocket, Default.Data, Default.RawData, Default.ServerOptions];
export const values = [all.WebSocket, all.WebSocketServer, all.createWebSocketStream, all.default];
