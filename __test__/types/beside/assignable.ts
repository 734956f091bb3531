// Variables with the types of @types/ws accept the values of this package.
import type * as Theirs from 'ws';

import type * as Ours from 'reactor-ws';

/** Fails to compile unless `From` can be used where `To` is wanted. */
type Assert<To, From extends To> = [To, From];

export type Checked = [
  Assert<Ours.ServerOptions['verifyClient'], Theirs.VerifyClientCallbackSync<any>>,
  Assert<Ours.ServerOptions['verifyClient'], Theirs.VerifyClientCallbackAsync<any>>,
  Assert<Ours.CloseEvent['code'], Theirs.CloseEvent['code']>,
  Assert<Theirs.CloseEvent['reason'], Ours.CloseEvent['reason']>,
  Assert<Theirs.ErrorEvent['message'], Ours.ErrorEvent['message']>,
  Assert<Ours.RawData, Theirs.RawData>,
  Assert<Theirs.WebSocket['readyState'], Ours.WebSocket['readyState']>,
  Assert<Theirs.WebSocket['extensions'], Ours.WebSocket['extensions']>,
  Assert<Ours.Data, Theirs.Data>,
  Assert<Theirs.Data, Ours.Data>,
  Assert<Theirs.RawData, Ours.RawData>,
  Assert<Theirs.MessageEvent['data'], Ours.MessageEvent['data']>,
  Assert<ReturnType<Theirs.WebSocketServer['address']>, ReturnType<Ours.WebSocketServer['address']>>,
  Assert<Theirs.WebSocket['url'], Ours.WebSocket['url']>,
  // Our classes have all members of theirs.
  Assert<keyof Ours.WebSocket, keyof Theirs.WebSocket>,
  Assert<keyof Ours.WebSocketServer, keyof Theirs.WebSocketServer>,
  Assert<keyof Ours.ServerOptions, keyof Theirs.ServerOptions>,
  Assert<keyof Ours.ClientOptions, keyof Theirs.ClientOptions>,
  Assert<keyof Ours.PerMessageDeflateOptions, keyof Theirs.PerMessageDeflateOptions>,
];
