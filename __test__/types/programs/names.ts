// Every name of @types/ws, by import.
import type {
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
import type { default as Default, WebSocket } from 'ws';
import * as all from 'ws';

export type Names = [
  AddressInfo,
  CertMeta,
  ClientOptions,
  CloseEvent,
  Data,
  Default,
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
  WebSocket,
  WebSocketServer,
  Default.Data,
  Default.RawData,
  Default.ServerOptions,
];
export const values = [all.WebSocket, all.WebSocketServer, all.createWebSocketStream, all.default];
